#include <rdma/ib_cache.h>
#include <rdma/ib_cache.h>
typedef int x;
