# SPDX-License-Identifier: GPL-2.0-or-later
# Two files of profile are compared: as a tree, as a picture, as folded lines; files that are wrong.
mkdir $RUN.d
cd $RUN.d
cat >a.folded <<'END'
web;main;parse 60
web;main;reply 20
web;main;reply;tcp_sendmsg_[k] 20
END
cat >b.jsonl <<'END'
{"samples":20,"frames":[{"name":"web","kind":"group"},{"name":"main","kind":"user"},{"name":"parse","kind":"user"}]}
{"samples":30,"frames":[{"name":"web","kind":"group"},{"name":"main","kind":"user"},{"name":"reply","kind":"user"},{"name":"tcp_sendmsg","kind":"kernel"}]}
END
echo '{"ns":5,"frames":[{"name":"web","kind":"group"}]}' >ns.jsonl
echo 'no profile' >wrong
: >empty
hvtrace profile --diff a.folded b.jsonl
hvtrace profile --diff --min=70 a.folded b.jsonl
hvtrace profile --diff a.folded b.jsonl -o c.folded
cat c.folded
hvtrace profile --diff a.folded b.jsonl -o c.svg
grep -c 'class="hvf"' c.svg
hvtrace profile --diff a.folded wrong
hvtrace profile --diff a.folded empty
# a new file is removed again, and another keeps its contents
hvtrace profile --diff a.folded wrong -o new.folded
[ -e new.folded ] && echo new.folded is left
cp a.folded old.folded
hvtrace profile --diff a.folded wrong -o old.folded
cmp a.folded old.folded
hvtrace profile --diff b.jsonl ns.jsonl
hvtrace profile --diff a.folded nosuch
hvtrace profile --diff a.folded a.folded -o x.perf
hvtrace profile --diff --for=1s a.folded b.jsonl
hvtrace profile --diff a.folded
cd / && rm -r $RUN.d
