// CUDA's error codes, as far as this runtime can return them or a program may name them.
#pragma once

#define CUDA_CPU_ERRORS(E)                                                             \
    E(0, cudaSuccess, "no error")                                                      \
    E(1, cudaErrorInvalidValue, "invalid argument")                                    \
    E(2, cudaErrorMemoryAllocation, "out of memory")                                   \
    E(3, cudaErrorInitializationError, "initialization error")                         \
    E(4, cudaErrorCudartUnloading, "driver shutting down")                             \
    E(9, cudaErrorInvalidConfiguration, "invalid configuration argument")              \
    E(12, cudaErrorInvalidPitchValue, "invalid pitch argument")                        \
    E(13, cudaErrorInvalidSymbol, "invalid device symbol")                             \
    E(16, cudaErrorInvalidHostPointer, "invalid host pointer")                         \
    E(17, cudaErrorInvalidDevicePointer, "invalid device pointer")                     \
    E(21, cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")        \
    E(35, cudaErrorInsufficientDriver,                                                 \
      "CUDA driver version is insufficient for CUDA runtime version")                  \
    E(46, cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable") \
    E(52, cudaErrorMissingConfiguration, "__global__ function call is not configured") \
    E(98, cudaErrorInvalidDeviceFunction, "invalid device function")                   \
    E(100, cudaErrorNoDevice, "no CUDA-capable device is detected")                    \
    E(101, cudaErrorInvalidDevice, "invalid device ordinal")                           \
    E(209, cudaErrorNoKernelImageForDevice,                                            \
      "no kernel image is available for execution on the device")                      \
    E(214, cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")           \
    E(304, cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS") \
    E(400, cudaErrorInvalidResourceHandle, "invalid resource handle")                  \
    E(500, cudaErrorSymbolNotFound, "named symbol not found")                          \
    E(600, cudaErrorNotReady, "device not ready")                                      \
    E(700, cudaErrorIllegalAddress, "an illegal memory access was encountered")        \
    E(701, cudaErrorLaunchOutOfResources, "too many resources requested for launch")   \
    E(702, cudaErrorLaunchTimeout, "the launch timed out and was terminated")          \
    E(704, cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")        \
    E(705, cudaErrorPeerAccessNotEnabled, "peer access has not been enabled")          \
    E(710, cudaErrorAssert, "device-side assert triggered")                            \
    E(712, cudaErrorHostMemoryAlreadyRegistered,                                       \
      "part or all of the requested memory range is already mapped")                   \
    E(713, cudaErrorHostMemoryNotRegistered,                                           \
      "pointer does not correspond to a registered memory region")                     \
    E(714, cudaErrorHardwareStackError, "hardware stack error")                        \
    E(715, cudaErrorIllegalInstruction, "an illegal instruction was encountered")      \
    E(716, cudaErrorMisalignedAddress, "misaligned address")                           \
    E(717, cudaErrorInvalidAddressSpace,                                               \
      "operation not supported on global/shared address space")                        \
    E(718, cudaErrorInvalidPc, "invalid program counter")                              \
    E(719, cudaErrorLaunchFailure, "unspecified launch failure")                       \
    E(720, cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch") \
    E(800, cudaErrorNotPermitted, "operation not permitted")                           \
    E(801, cudaErrorNotSupported, "operation not supported")                           \
    E(999, cudaErrorUnknown, "unknown error")

enum cudaError {
#define CUDA_CPU_ENTRY(code, name, text) name = code,
    CUDA_CPU_ERRORS(CUDA_CPU_ENTRY)
#undef CUDA_CPU_ENTRY
};
typedef enum cudaError cudaError_t;
