# SPDX-License-Identifier: GPL-2.0-or-later
# The file with the types of a kernel without BTF: where it is looked for, and which files are opened.
mkdir -p "$RUN.test/empty" "$RUN.test/btf"
printf '\237\353\1\0\30\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' | tee "$RUN.test/btf/6.1.0-fake.btf" >"$RUN.test/file" # a header
chmod 755 "$RUN.test/btf" "$RUN.test/empty"
chmod 644 "$RUN.test/btf/6.1.0-fake.btf"
exec 2>&1
hvtrace attach untyped
hvtrace attach --btf="$RUN.test/empty" untyped
hvtrace check --btf="$RUN.test/empty" untyped | grep PREVENTS
hvtrace recover untyped
hvtrace attach --btf=nosuch untyped
for verb in attach check recover; do
	for given in nosuch file btf; do
		hvtrace $verb --btf="$RUN.test/$given" untyped | grep PREVENTS
	done
done
chmod 666 "$RUN.test/btf/6.1.0-fake.btf"
hvtrace attach --btf="$RUN.test/btf" untyped
ln -sf ../file "$RUN.test/empty/6.1.0-fake.btf"
hvtrace attach --btf="$RUN.test/empty" untyped
# A kernel with BTF needs no file.
hvtrace attach --btf="$RUN.test/btf" fake
hvtrace detach fake
# A session with a file died: its copy of the file stays until recover has used it.
ID=1f0a4a3e-0000-4000-8000-000000000001
mkdir -p -m 700 "$RUN/$ID"
printf copy >"$RUN/$ID/btf"
printf '{"id":"%s","name":"untyped","spec":"untyped","btf":"/gone.btf","btf_release":"6.1.0-fake","btf_bytes":4}' $ID \
	>"$RUN/$ID/info"
hvtrace attach untyped
hvtrace attach --btf="$RUN.test/file" untyped
hvtrace record -o "$RUN.test/trace.dat" -p function untyped
cat "$RUN/$ID/btf"
echo
hvtrace recover untyped
printf damaged >"$RUN/$ID/btf"
hvtrace recover untyped
rm -r "$RUN/$ID"
