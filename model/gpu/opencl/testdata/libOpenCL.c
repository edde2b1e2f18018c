// An OpenCL for tests: as many platforms as stub_platforms says, each with one device, which is not
// opened. The first platform's device is old.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef struct handle { int number; } *handle;

static struct handle all[8] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
static cl_uint platforms;

void stub_platforms(cl_uint n) { platforms = n; }

static cl_int give(const void *from, size_t n, size_t room, void *to, size_t *size) {
	if (size) *size = n;
	if (to && room < n) return -30;
	if (to) memcpy(to, from, n);
	return 0;
}

static cl_int text(const char *s, size_t room, void *to, size_t *size) {
	return give(s, strlen(s) + 1, room, to, size);
}

cl_int clGetPlatformIDs(cl_uint n, handle *ids, cl_uint *got) {
	if (got) *got = platforms;
	if (platforms == 0) return -1001;
	for (cl_uint i = 0; ids && i < n; i++) ids[i] = &all[i];
	return 0;
}

cl_int clGetPlatformInfo(handle p, cl_uint what, size_t room, void *to, size_t *size) {
	return text(p->number ? "Second Platform" : "First Platform", room, to, size);
}

cl_int clGetDeviceIDs(handle p, cl_ulong type, cl_uint n, handle *ids, cl_uint *got) {
	if (got) *got = 1;
	if (ids) ids[0] = p;
	return type == 0xffffffff ? 0 : -31;
}

cl_int clGetDeviceInfo(handle d, cl_uint what, size_t room, void *to, size_t *size) {
	cl_ulong v = 0;
	cl_uint bus[4] = {0, 0x18, 1, 0}; // only the second device's driver says
	switch (what) {
	case 0x410f: return d->number ? give(bus, sizeof bus, room, to, size) : -30;
	case 0x1000: v = d->number ? 4 : 2; break; // a GPU; a processor
	case 0x1004: v = 256; break;
	case 0x1010: v = 1 << 20; break;
	case 0x101b: v = 0xff; break;
	case 0x101f: v = 1 << 20; break;
	case 0x1023: v = 32 << 10; break;
	case 0x1027: case 0x1028: v = 1; break;
	case 0x1032: v = d->number ? 0xff : 0; break;
	case 0x102b: return text(d->number ? "New Device" : "Old Device", room, to, size);
	case 0x102c: return text("Vendor", room, to, size);
	case 0x102d: return text("7", room, to, size);
	case 0x102f: return text(d->number ? "OpenCL 3.0 x" : "OpenCL 1.1 x", room, to, size);
	default: return -30;
	}
	return give(&v, 8, room, to, size);
}

handle clCreateContext(void *p, cl_uint n, handle *d, void *f, void *u, cl_int *code) {
	*code = -2;
	return NULL;
}

#define ABSENT(name) cl_int name(void) { return -5; }
ABSENT(clCreateCommandQueue) ABSENT(clCreateProgramWithSource) ABSENT(clBuildProgram)
ABSENT(clGetProgramBuildInfo) ABSENT(clCreateKernel) ABSENT(clSetKernelArg)
ABSENT(clEnqueueNDRangeKernel) ABSENT(clCreateBuffer) ABSENT(clEnqueueWriteBuffer)
ABSENT(clEnqueueReadBuffer) ABSENT(clEnqueueCopyBuffer) ABSENT(clFlush)
ABSENT(clReleaseMemObject) ABSENT(clReleaseKernel) ABSENT(clReleaseProgram)
ABSENT(clReleaseCommandQueue) ABSENT(clReleaseContext)
