package opencl

var libraryNames = [...]string{"libOpenCL.so.1", "libOpenCL.so"}
