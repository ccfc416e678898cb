// A CUDA driver and NVRTC for machines without a GPU, so that tests can run the code that launches kernels: the device's memory is
// the host's, "NVRTC" is g++, what it makes is a shared object, and a launch is a loop over blocks and threads. It has the calls
// that cudarc makes for this library and for candle's tensors, and no more. It is strict where a card is: memory that was not
// allocated, copies out of bounds and kernels that are not there are errors. EMULATED_MEMORY bounds the memory, in bytes.

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace {
enum Result {
  Success = 0, InvalidValue = 1, OutOfMemory = 2, NoDevice = 100, InvalidDevice = 101, InvalidImage = 200, NotFound = 500,
  InvalidHandle = 400, IllegalAddress = 700
};

std::mutex lock;
std::map<uintptr_t, size_t> allocations;
size_t used = 0;
// Bytes that a thread has copied to the host.
thread_local size_t copied = 0;

size_t capacity() {
  const char *bytes = getenv("EMULATED_MEMORY");
  return bytes ? strtoull(bytes, 0, 10) : (size_t)8 << 30;
}

// Is a range within one allocation?
bool is_there(uintptr_t first, size_t n) {
  const std::lock_guard<std::mutex> guard(lock);
  auto next = allocations.upper_bound(first);
  if (next == allocations.begin()) return n == 0;
  --next;
  return first + n <= next->first + next->second;
}

std::string folder() {
  const char *folder = getenv("EMULATED_CACHE");
  std::string path = folder ? folder : std::filesystem::temp_directory_path() / ("emulated-cuda." + std::to_string(getuid()));
  mkdir(path.c_str(), 0700);
  return path;
}

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string &path, const std::string &text) { std::ofstream(path, std::ios::binary) << text; }

std::string hash(const std::string &text) {
  unsigned __int128 h = ((unsigned __int128)0x6c62272e07bb0142u << 64) | 0x62b821756295c58du;
  const unsigned __int128 prime = ((unsigned __int128)1 << 88) | 0x13b;
  for (unsigned char c : text) h = (h ^ c) * prime;
  char digits[40];
  snprintf(digits, sizeof digits, "%016llx%016llx", (unsigned long long)(h >> 64), (unsigned long long)h);
  return digits;
}

// A function for each kernel in preprocessed text, that takes its arguments as a launch has them.
std::string launchers(const std::string &text) {
  std::string all;
  for (size_t at = 0; (at = text.find("__global__", at)) != std::string::npos; ++at) {
    const size_t line = text.rfind("extern", at);
    if (line == std::string::npos || at - line > 16) continue;
    const size_t open = text.find('(', at);
    size_t end = open;
    while (end > at && isspace(text[end - 1])) --end;
    size_t begin = end;
    while (isalnum(text[begin - 1]) || text[begin - 1] == '_') --begin;
    const std::string name = text.substr(begin, end - begin);
    all += "extern \"C\" void emulated_launch_" + name + "(void **p) { emulated::call(&" + name + ", p); }\n";
  }
  return all;
}

int run(const std::string &command) { return system(command.c_str()); }

std::string here() {
  Dl_info info;
  dladdr((void *)&here, &info);
  std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/'));
}

// A name that no other thread or process has.
std::string own_name(const std::string &path) {
  static std::atomic<unsigned> count{0};
  return path + "." + std::to_string(getpid()) + "." + std::to_string(count++);
}

// A shared object of preprocessed text, or what the compiler said.
bool build(const std::string &text, std::string &object, std::string &log) {
  const std::string path = folder() + "/" + hash(text);
  if (access((path + ".so").c_str(), R_OK) != 0) {
    const std::string own = own_name(path);
    write(own + ".cpp", text + "\n" + launchers(text));
    const int failed = run("g++ -x c++ -std=c++17 -w -O0 -ffp-contract=off -mfma -fPIC -shared -D__global__= " + own + ".cpp -o " + own +
                           ".so 2>" + own + ".log");
    log = read(own + ".log");
    if (!failed) rename((own + ".so").c_str(), (path + ".so").c_str());
    for (const char *ending : {".cpp", ".log"}) unlink((own + ending).c_str());
    if (failed) return false;
  }
  object = path + ".so";
  return true;
}

struct Program {
  std::string text, log, image;
};

struct Module {
  void *handle;
  void (*run)(void (*)(void **), void **, const unsigned *, const unsigned *);
};

struct Function {
  Module *module;
  void (*launcher)(void **);
};

struct Attribute {
  int number, value;
};
// Threads of a block, multiprocessors, compute capability 9.0, memory pools.
const Attribute attributes[] = {{1, 1024}, {16, 2}, {75, 9}, {76, 0}, {115, 1}, {39, 2048}, {10, 32}};
}

extern "C" {
typedef uintptr_t Pointer;

// What no driver has: for tests of what stays on the device.
size_t emulated_copied() { return copied; }

int cuInit(unsigned) { return Success; }
int cuDriverGetVersion(int *version) { *version = 13000; return Success; }
int cuDeviceGetCount(int *n) { *n = 1; return Success; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal == 0 ? Success : InvalidDevice; }
int cuDeviceGetName(char *name, int n, int) { snprintf(name, n, "emulated"); return Success; }
int cuDeviceTotalMem_v2(size_t *bytes, int) { *bytes = capacity(); return Success; }
int cuDeviceGetAttribute(int *value, int number, int) {
  *value = 0;
  for (const Attribute &attribute : attributes)
    if (attribute.number == number) *value = attribute.value;
  return Success;
}
int cuDevicePrimaryCtxRetain(void **context, int) { *context = (void *)1; return Success; }
int cuDevicePrimaryCtxRelease_v2(int) { return Success; }
int cuCtxSetCurrent(void *) { return Success; }
int cuCtxGetCurrent(void **context) { *context = (void *)1; return Success; }
int cuCtxSynchronize() { return Success; }
int cuStreamSynchronize(void *) { return Success; }
int cuStreamWaitEvent(void *, void *, unsigned) { return Success; }
int cuStreamIsCapturing(void *, int *status) { *status = 0; return Success; }
int cuStreamGetCaptureInfo_v2(void *, int *status, ...) { *status = 0; return Success; }
int cuEventCreate(void **event, unsigned) { *event = malloc(1); return Success; }
int cuEventRecord(void *, void *) { return Success; }
int cuEventDestroy_v2(void *event) { free(event); return Success; }
int cuEventSynchronize(void *) { return Success; }
int cuGetErrorName(int, const char **name) { *name = "EMULATED_ERROR"; return Success; }
int cuGetErrorString(int code, const char **text) {
  *text = code == OutOfMemory ? "out of memory" : code == NotFound ? "not found" : code == IllegalAddress ? "illegal address" : "error";
  return Success;
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
  *total = capacity();
  *free = capacity() - used;
  return Success;
}
int cuMemAlloc_v2(Pointer *to, size_t n) {
  const std::lock_guard<std::mutex> guard(lock);
  if (n == 0) return InvalidValue;
  if (n > capacity() - used) return OutOfMemory;
  void *memory = aligned_alloc(512, (n + 511) / 512 * 512);
  if (!memory) return OutOfMemory;
  // Whoever reads what nobody has written finds numbers that are none.
  memset(memory, 0xff, n);
  allocations[(Pointer)memory] = n;
  used += n;
  *to = (Pointer)memory;
  return Success;
}
int cuMemFree_v2(Pointer memory) {
  if (memory == 0) return Success;
  const std::lock_guard<std::mutex> guard(lock);
  const auto found = allocations.find(memory);
  if (found == allocations.end()) return InvalidValue;
  used -= found->second;
  memset((void *)memory, 0xfe, found->second);
  allocations.erase(found);
  free((void *)memory);
  return Success;
}
// Nothing, from a pool, is nowhere.
int cuMemAllocAsync(Pointer *to, size_t n, void *) { return n ? cuMemAlloc_v2(to, n) : (*to = 0, Success); }
int cuMemFreeAsync(Pointer memory, void *) { return cuMemFree_v2(memory); }
int cuMemcpyHtoDAsync_v2(Pointer to, const void *from, size_t n, void *) {
  if (!is_there(to, n)) return IllegalAddress;
  memcpy((void *)to, from, n);
  return Success;
}
int cuMemcpyHtoD_v2(Pointer to, const void *from, size_t n) { return cuMemcpyHtoDAsync_v2(to, from, n, 0); }
int cuMemcpyDtoHAsync_v2(void *to, Pointer from, size_t n, void *) {
  if (!is_there(from, n)) return IllegalAddress;
  memcpy(to, (void *)from, n);
  copied += n;
  return Success;
}
int cuMemcpyDtoH_v2(void *to, Pointer from, size_t n) { return cuMemcpyDtoHAsync_v2(to, from, n, 0); }
int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t n, void *) {
  if (!is_there(to, n) || !is_there(from, n)) return IllegalAddress;
  memcpy((void *)to, (void *)from, n);
  return Success;
}
int cuMemcpyDtoD_v2(Pointer to, Pointer from, size_t n) { return cuMemcpyDtoDAsync_v2(to, from, n, 0); }
int cuMemsetD8Async(Pointer to, unsigned char x, size_t n, void *) {
  if (!is_there(to, n)) return IllegalAddress;
  memset((void *)to, x, n);
  return Success;
}
int cuMemsetD8_v2(Pointer to, unsigned char x, size_t n) { return cuMemsetD8Async(to, x, n, 0); }

int cuModuleLoadData(void **module, const void *image) {
  const unsigned char *bytes = (const unsigned char *)image;
  std::string object, log;
  if (!memcmp(bytes, "\177ELF", 4)) {
    // The table of sections is the last thing in the file.
    uint64_t sections;
    uint16_t size, count;
    memcpy(&sections, bytes + 0x28, 8);
    memcpy(&size, bytes + 0x3a, 2);
    memcpy(&count, bytes + 0x3c, 2);
    const std::string all((const char *)bytes, sections + (uint64_t)size * count);
    object = folder() + "/" + hash(all) + ".module.so";
    if (access(object.c_str(), R_OK) != 0) {
      const std::string own = own_name(object);
      write(own, all);
      rename(own.c_str(), object.c_str());
    }
  } else if (!build((const char *)image, object, log)) {
    fprintf(stderr, "emulated CUDA: %s\n", log.c_str());
    return InvalidImage;
  }
  void *handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return InvalidImage;
  Module *made = new Module{handle, 0};
  *(void **)&made->run = dlsym(handle, "emulated_run");
  *module = made;
  return made->run ? Success : InvalidImage;
}
int cuModuleUnload(void *) { return Success; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  void *launcher = dlsym(((Module *)module)->handle, (std::string("emulated_launch_") + name).c_str());
  if (!launcher) return NotFound;
  Function *made = new Function{(Module *)module, 0};
  *(void **)&made->launcher = launcher;
  *function = made;
  return Success;
}
int cuFuncGetAttribute(int *value, int, void *) { *value = 0; return Success; }
int cuFuncSetAttribute(void *, int, int) { return Success; }
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *, int, size_t, unsigned) { *blocks = 3; return Success; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned, void *, void **p,
                   void **) {
  if (!function) return InvalidHandle;
  if (gx * gy * gz == 0 || bx * by * bz == 0 || bx * by * bz > 1024) return InvalidValue;
  const unsigned grid[] = {gx, gy, gz}, threads[] = {bx, by, bz};
  const Function *f = (Function *)function;
  f->module->run(f->launcher, p, grid, threads);
  return Success;
}

int nvrtcVersion(int *major, int *minor) { *major = 13; *minor = 0; return 0; }
const char *nvrtcGetErrorString(int code) { return code == 6 ? "compilation failed" : "error"; }
int nvrtcCreateProgram(Program **program, const char *text, const char *, int, const char *const *, const char *const *) {
  *program = new Program{text, "", ""};
  return 0;
}
int nvrtcCompileProgram(Program *program, int, const char *const *) {
  const std::string own = own_name(folder() + "/" + hash(program->text));
  write(own + ".cu", program->text);
  const bool waits = program->text.find("__syncthreads") != std::string::npos || program->text.find("__shfl") != std::string::npos;
  const int failed = run("g++ -x c++ -std=c++17 -E -P " + std::string(waits ? "-DEMULATED_FIBERS " : "") + "-D__CUDACC_RTC__ -I" + here() +
                         "/include -include emulated.h " + own + ".cu -o " + own + ".ii 2>" + own + ".log");
  program->log = read(own + ".log");
  const std::string text = read(own + ".ii");
  for (const char *ending : {".cu", ".ii", ".log"}) unlink((own + ending).c_str());
  std::string object;
  if (failed || !build(text, object, program->log)) return 6;
  program->image = read(object);
  return 0;
}
int nvrtcGetProgramLogSize(Program *program, size_t *n) { *n = program->log.size() + 1; return 0; }
int nvrtcGetProgramLog(Program *program, char *log) { memcpy(log, program->log.c_str(), program->log.size() + 1); return 0; }
int nvrtcGetCUBINSize(Program *program, size_t *n) { *n = program->image.size(); return 0; }
int nvrtcGetCUBIN(Program *program, char *image) { memcpy(image, program->image.data(), program->image.size()); return 0; }
int nvrtcDestroyProgram(Program **program) { delete *program; return 0; }
}
