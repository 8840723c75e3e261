# The KUnit suite of the slots by memory group, which runs when the kernel boots.
# config: MARS_SWAP_KUNIT_TEST
# seconds: 5
step 'the suite'
dmesg | sed 's/^\[[^]]*\] //' >/tmp/log
sed -n '/# Subtest: mars$/,/^ok [0-9]* mars$/p' /tmp/log >/tmp/suite
cat /tmp/suite
passed=$(grep -cE '^ +ok [0-9]+ ' /tmp/suite)
planned=$(sed -n 's/^ *1\.\.\([0-9]*\)$/\1/p' /tmp/suite)
grep -qE '^ok [0-9]+ mars$' /tmp/suite || fail 'it did not pass'
[ "$passed" = "$planned" ] && [ "$passed" -ge 4 ] || fail "$passed of ${planned:-?} tests passed"
