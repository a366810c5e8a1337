# SPDX-License-Identifier: BSD-2-Clause
# pyverbs' own suite, as Debian has it: what it has for UD and the three multicast tests
# of rdma_cm, every one of them run and none skipped. A suite that skips everything says
# OK, too.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
site_keep
suite=$VERBCAST_SOURCE/build/pyverbs
[ -e "$suite/tests/run_tests.py" ] || skip 'no pyverbs tests here; scripts/bootstrap test brings them'
# The system's, which has the package, and not what may stand before it in PATH.
python=/usr/bin/python3
$python -c 'import pyverbs.device' 2>/dev/null || skip 'python3-pyverbs is not installed'

multicast=tests.test_rdmacm.CMTestCase.test_rdmacm_async
cd "$suite" || exit 1

# suite NAME COUNT TEST...: they all pass, and there are at least so many.
suite()
{
	local name=$1 count=$2 ran

	shift 2
	say "$name"
	start "$name" $python tests/run_tests.py -v "$@"
	ended "$name" 60
	# unittest reports on its standard error.
	ran=$(sed -n 's/^Ran \([0-9]*\) tests\? in .*/\1/p' "$site_work/$name.err")
	[ "${ran:-0}" -ge "$count" ] || fail "$name: ${ran:-no} tests ran, not $count"
	[ "$(tail -n 1 "$site_work/$name.err")" = OK ] || fail "$name: $(tail -n 1 "$site_work/$name.err")"
	grep -i 'skipped' "$site_work/$name.err" && fail "$name: skipped some"
	grep -cE ' \.\.\. ok$' "$site_work/$name.err"
}

suite pd 4 tests.test_pd
suite device 13 tests.test_device.DeviceTest
suite addr 3 tests.test_addr
suite cq 4 tests.test_cq
suite cq_events 1 tests.test_cq_events.CqEventsTestCase.test_cq_events_ud
suite cqex 3 tests.test_cqex.CQEXAPITest \
	tests.test_cqex.CqExTestCase.test_ud_traffic_cq_ex
suite mr 1 tests.test_mr.MRTest.test_reg_mr_bad_flags
suite parent_domain 1 \
	tests.test_parent_domain.ParentDomainTrafficTest.test_mem_align_ud_traffic
qp=tests.test_qp.QPTest.test
suite qp 7 ${qp}_create_ud_qp_no_attr ${qp}_create_ud_qp_with_attr \
	${qp}_create_ud_qp_ex_no_attr ${qp}_create_ud_qp_ex_with_attr \
	${qp}_modify_ud_qp ${qp}_query_ud_qp ${qp}_query_data_in_order
for round in $(seq "$(count 2 20)"); do
	suite multicast 3 ${multicast}_multicast_traffic ${multicast}_ex_multicast_traffic \
		${multicast}_ex_leave_multicast_traffic
done
site_end
