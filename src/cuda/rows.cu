// Rows of numbers on the device: gathered, scattered, added up. Any number of threads does all of the work.

typedef unsigned long long Count;

#define FIRST (blockIdx.x * (Count)blockDim.x + threadIdx.x)
#define ALL (gridDim.x * (Count)blockDim.x)

// The worlds whose reports, `steps` times `info` numbers each, do not all begin with zero: how many, then which, in any order.
extern "C" __global__ void unsolved(const float *reports, Count stride, Count info, Count steps, Count n, unsigned *list)
{
  for (Count world = FIRST; world < n; world += ALL) {
    bool solved = true;
    for (Count t = 0; t < steps; ++t) solved &= reports[world * stride + t * info] == 0;
    if (!solved) list[1 + atomicAdd(list, 1u)] = (unsigned)world;
  }
}

// Rows of those worlds that a list has, or of the first n if there is none, as rows of another type.
template <class From, class To>
static __device__ void gather_rows(const From *from, Count stride, To *to, Count width, Count n, const unsigned *list)
{
  if (list) n = list[0];
  for (Count k = FIRST; k < n * width; k += ALL) {
    const Count row = k / width;
    to[k] = (To)from[(list ? list[1 + row] : row) * stride + k % width];
  }
}

// The opposite: the first rows go to where the list says.
template <class From, class To>
static __device__ void scatter_rows(const From *from, Count width, To *to, Count stride, Count n, const unsigned *list)
{
  if (list) n = list[0];
  for (Count k = FIRST; k < n * width; k += ALL) {
    const Count row = k / width;
    to[(list ? list[1 + row] : row) * stride + k % width] = (To)from[k];
  }
}

extern "C" __global__ void gather_f32_f64(const float *from, Count stride, double *to, Count width, Count n, const unsigned *list)
{
  gather_rows(from, stride, to, width, n, list);
}

extern "C" __global__ void gather_f64_f64(const double *from, Count stride, double *to, Count width, Count n, const unsigned *list)
{
  gather_rows(from, stride, to, width, n, list);
}

extern "C" __global__ void scatter_f64_f32(const double *from, Count width, float *to, Count stride, Count n, const unsigned *list)
{
  scatter_rows(from, width, to, stride, n, list);
}

extern "C" __global__ void scatter_f64_f64(const double *from, Count width, double *to, Count stride, Count n, const unsigned *list)
{
  scatter_rows(from, width, to, stride, n, list);
}

// Sums of so many rows each, one row after the other: the same bits whatever runs at the same time.
extern "C" __global__ void sum_rows(const double *from, Count stride, double *to, Count width, Count n, Count rows)
{
  const Count sums = (n + rows - 1) / rows;
  for (Count k = FIRST; k < sums * width; k += ALL) {
    const Count first = k / width * rows;
    const Count last = first + rows < n ? first + rows : n;
    double sum = 0;
    for (Count row = first; row < last; ++row) sum += from[row * stride + k % width];
    to[k] = sum;
  }
}
