for v in list check attach ls cat echo record run stat detach recover; do hvtrace $v --help || exit; done
