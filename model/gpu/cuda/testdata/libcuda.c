// A libcuda for tests: the driver's functions with the types that cuda.h gives them, so that a C
// compiler says where each argument is. All that they do is to tell Go.

#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice, CUdevice_attribute, CUjit_option, CUstreamCaptureMode;
typedef unsigned long long CUdeviceptr, cuuint64_t;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef int CUmemAllocationGranularity_flags;
typedef struct CUmemAllocationProp_st CUmemAllocationProp;
typedef struct CUmemAccessDesc_st CUmemAccessDesc;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

static int (*receiver)(const char *function, const uint64_t *args);

void stub_connect(int (*to)(const char *, const uint64_t *)) { receiver = to; }

#define TELL(...) { return receiver(__func__, (uint64_t[11]){__VA_ARGS__}); }
#define P (uint64_t)(uintptr_t)

CUresult cuDriverGetVersion(int *v) TELL(P v)
CUresult cuGetErrorName(CUresult e, const char **s) TELL(e, P s)
CUresult cuGetErrorString(CUresult e, const char **s) TELL(e, P s)
CUresult cuInit(unsigned int flags) TELL(flags)
CUresult cuDeviceGetCount(int *n) TELL(P n)
CUresult cuDeviceGet(CUdevice *d, int i) TELL(P d, i)
CUresult cuDeviceGetName(char *s, int n, CUdevice d) TELL(P s, n, d)
CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) TELL(P n, d)
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) TELL(P v, a, d)
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) TELL(P c, d)
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) TELL(d)
CUresult cuCtxPushCurrent_v2(CUcontext c) TELL(P c)
CUresult cuCtxPopCurrent_v2(CUcontext *c) TELL(P c)
CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned int n, CUjit_option *o,
	void **v) TELL(P m, P image, n, P o, P v)
CUresult cuModuleUnload(CUmodule m) TELL(P m)
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *s) TELL(P f, P m, P s)
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) TELL(P p, n)
CUresult cuMemFree_v2(CUdeviceptr p) TELL(p)
CUresult cuMemGetInfo_v2(size_t *free, size_t *total) TELL(P free, P total)
CUresult cuMemAllocHost_v2(void **p, size_t n) TELL(P p, n)
CUresult cuMemFreeHost(void *p) TELL(P p)
CUresult cuMemGetAllocationGranularity(size_t *n, const CUmemAllocationProp *p,
	CUmemAllocationGranularity_flags f) TELL(P n, P p, f)
CUresult cuMemAddressReserve(CUdeviceptr *p, size_t n, size_t align, CUdeviceptr at,
	unsigned long long flags) TELL(P p, n, align, at, flags)
CUresult cuMemAddressFree(CUdeviceptr p, size_t n) TELL(p, n)
CUresult cuMemCreate(CUmemGenericAllocationHandle *h, size_t n, const CUmemAllocationProp *p,
	unsigned long long flags) TELL(P h, n, P p, flags)
CUresult cuMemRelease(CUmemGenericAllocationHandle h) TELL(h)
CUresult cuMemMap(CUdeviceptr p, size_t n, size_t from, CUmemGenericAllocationHandle h,
	unsigned long long flags) TELL(p, n, from, h, flags)
CUresult cuMemUnmap(CUdeviceptr p, size_t n) TELL(p, n)
CUresult cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc *d, size_t count)
	TELL(p, n, P d, count)
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s)
	TELL(to, P from, n, P s)
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s)
	TELL(P to, from, n, P s)
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)
	TELL(to, from, n, P s)
CUresult cuStreamCreate(CUstream *s, unsigned int flags) TELL(P s, flags)
CUresult cuStreamDestroy_v2(CUstream s) TELL(P s)
CUresult cuStreamSynchronize(CUstream s) TELL(P s)
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream s,
	void **params, void **extra) TELL(P f, gx, gy, gz, bx, by, bz, shared, P s, P params, P extra)
CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode m) TELL(P s, m)
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) TELL(P s, P g)
CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, unsigned long long flags)
	TELL(P x, P g, flags)
CUresult cuGraphDestroy(CUgraph g) TELL(P g)
CUresult cuGraphLaunch(CUgraphExec x, CUstream s) TELL(P x, P s)
CUresult cuGraphExecDestroy(CUgraphExec x) TELL(P x)
