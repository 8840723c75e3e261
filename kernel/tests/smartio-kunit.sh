# The policy's KUnit suite, in the kernel that it is built for: it runs when its module is loaded.
# modules: smartio_kunit
# config: KUNIT
# seconds: 5
step 'the suite'
dmesg | sed 's/^\[[^]]*\] //' >/tmp/log
grep -E '^ +(not )?ok [0-9]+ ' /tmp/log | sed 's/^ *//'
passed=$(grep -cE '^ +ok [0-9]+ ' /tmp/log)
failed=$(grep -cE '^ *not ok ' /tmp/log)
planned=$(sed -n '/# Subtest: smartio/,$s/^ *1\.\.\([0-9]*\)$/\1/p' /tmp/log)
emit "{\"kunit\":{\"passed\":$passed,\"failed\":$failed}}"
[ "$failed" = 0 ] || fail "$failed of its tests: $(grep -m 1 -B 4 -E '^ *not ok ' /tmp/log | tr -s ' \n' ' ')"
grep -qE '^ok [0-9]+ smartio$' /tmp/log || fail 'it did not come to its end'
[ "$passed" = "$planned" ] && [ "$passed" -ge 10 ] || fail "$passed of ${planned:-?} tests"
