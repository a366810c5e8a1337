# SPDX-License-Identifier: BSD-2-Clause
# Stock programs on InfiniBand: mckey and ibv_ud_pingpong between two nodes, the latter by
# LID and by GID; pyverbs' suite on one, every test run and none skipped.
# ctest: TIMEOUT 400
. "$VERBCAST_SOURCE/tests/harness/site.sh"
site_begin
need ibv_ud_pingpong mckey

ours fabric up --nodes 3

port=$(free_port 23000)

# pingpong NAME ARGUMENT...: between two nodes.
pingpong()
{
	local name=$1

	shift
	site_run='--node h2' start "$name-server" ibv_ud_pingpong -d vib0 -p $port "$@"
	wait_for 10 "$name: the server listens" listens $port
	site_run='--node h3' start "$name-client" ibv_ud_pingpong -d vib0 -p $port "$@" 127.0.0.1
	ended "$name-client" 30
	ended "$name-server" 30
	quiet "$name-client" "$name-server"
	says "$name-client" '^[0-9]+ iters in '
	port=$(unused_port $((port + 1)))
}

say 'ibv_ud_pingpong'
pingpong by-lid
says by-lid-client 'remote address: LID 0x[0-9a-f]*[1-9a-f][0-9a-f]*, .*GID ::$'
pingpong by-gid -g 0
says by-gid-client 'remote address: .*GID fe80::'
pingpong events -e
pingpong long -s 2048

say mckey
site_run='--node h3' start receiver mckey -m 239.5.1.1 -b 198.18.0.3
wait_for 10 'the receiver is a member' members_are ff12:4001:ffff::f05:101 1
receiver=$(pid receiver)
site_run='--node h2' start sender mckey -m 239.5.1.1 -b 198.18.0.2 -s
ended sender 20
ended receiver 20
got ff12:4001:ffff::f05:101 "$receiver" 10

say pyverbs
suite=$VERBCAST_SOURCE/build/pyverbs
[ -e "$suite/tests/run_tests.py" ] || skip 'no pyverbs tests here; scripts/bootstrap test brings them'
# The system's, which has the package, and not what may stand before it in PATH.
python=/usr/bin/python3
$python -c 'import pyverbs.device' 2>/dev/null || skip 'python3-pyverbs is not installed'

# The suite asks "ip" for the address of the device's interface. A node's is none of the
# kernel's, so it is told.
cat >"$site_work/suite.py" <<'END'
import os
import runpy
import sys

sys.path[:0] = [os.path.join(os.getcwd(), 'tests'), os.getcwd()]
from tests.base import RDMATestCase


def told(self, dev, port, idx):
    self.args.append([dev, port, idx, '198.18.0.2', None])


RDMATestCase._get_ip_mac = told
sys.argv[0] = 'tests/run_tests.py'
runpy.run_path(sys.argv[0], run_name='__main__')
END

multicast=tests.test_rdmacm.CMTestCase.test_rdmacm_async
qp=tests.test_qp.QPTest.test
# test_create_ah_roce is for RoCE, and would be skipped.
set -- tests.test_pd tests.test_device.DeviceTest tests.test_addr.AHTest.test_create_ah \
	tests.test_addr.AHTest.test_destroy_ah tests.test_cq \
	tests.test_cq_events.CqEventsTestCase.test_cq_events_ud tests.test_cqex.CQEXAPITest \
	tests.test_cqex.CqExTestCase.test_ud_traffic_cq_ex \
	tests.test_mr.MRTest.test_reg_mr_bad_flags \
	tests.test_parent_domain.ParentDomainTrafficTest.test_mem_align_ud_traffic \
	${qp}_create_ud_qp_no_attr ${qp}_create_ud_qp_with_attr \
	${qp}_create_ud_qp_ex_no_attr ${qp}_create_ud_qp_ex_with_attr \
	${qp}_modify_ud_qp ${qp}_query_ud_qp ${qp}_query_data_in_order \
	${multicast}_multicast_traffic ${multicast}_ex_multicast_traffic \
	${multicast}_ex_leave_multicast_traffic
cd "$suite" || exit 1
site_run='--node h2' start pyverbs $python "$site_work/suite.py" -v --dev vib0 "$@"
ended pyverbs 60
# unittest reports on its standard error.
ran=$(sed -n 's/^Ran \([0-9]*\) tests\? in .*/\1/p' "$site_work/pyverbs.err")
[ "${ran:-0}" -ge 39 ] || fail "${ran:-no} tests ran, not 39"
[ "$(tail -n 1 "$site_work/pyverbs.err")" = OK ] || fail "$(tail -n 1 "$site_work/pyverbs.err")"
grep -i 'skipped' "$site_work/pyverbs.err" && fail 'skipped some'
site_end
