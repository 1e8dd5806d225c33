hvtrace record -p irqs web1 --for 1
