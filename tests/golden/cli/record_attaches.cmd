hvtrace record -p function fake -- sh -c 'hvtrace cat fake current_tracer; hvtrace stat fake | grep sites'
