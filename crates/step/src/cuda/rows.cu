// Rows of numbers on the device: gathered, scattered, added up. Any number of threads does all of the work.

typedef unsigned long long Count;

#define FIRST (blockIdx.x * (Count)blockDim.x + threadIdx.x)
#define ALL (gridDim.x * (Count)blockDim.x)

// The worlds whose reports, `steps` times `info` numbers each, do not all begin with zero: how many, then which, in any order.
template <class T>
static __device__ void list_unsolved(const T *reports, Count stride, Count info, Count steps, Count n, unsigned *list)
{
  for (Count world = FIRST; world < n; world += ALL) {
    bool solved = true;
    for (Count t = 0; t < steps; ++t) solved &= reports[world * stride + t * info] == 0;
    if (!solved) list[1 + atomicAdd(list, 1u)] = (unsigned)world;
  }
}

extern "C" __global__ void unsolved_f32(const float *reports, Count stride, Count info, Count steps, Count n, unsigned *list)
{
  list_unsolved(reports, stride, info, steps, n, list);
}

// Rows, whose numbers are `step` apart, from one place to another; where one has a list, row k is the world that the list has there, and there are as many rows
// as the list has worlds.
template <class From, class To>
static __device__ void move_rows(const From *from, Count from_stride, Count step, const unsigned *from_list, To *to,
                                 Count to_stride, const unsigned *to_list, Count width, Count n)
{
  if (from_list) n = from_list[0];
  if (to_list) n = to_list[0];
  for (Count k = FIRST; k < n * width; k += ALL) {
    const Count row = k / width, column = k % width;
    to[(to_list ? to_list[1 + row] : row) * to_stride + column] =
      (To)from[(from_list ? from_list[1 + row] : row) * from_stride + column * step];
  }
}

#define MOVE(NAME, FROM, TO) \
  extern "C" __global__ void NAME(const FROM *from, Count from_stride, Count step, const unsigned *from_list, TO *to, \
                                  Count to_stride, const unsigned *to_list, Count width, Count n) \
  { \
    move_rows(from, from_stride, step, from_list, to, to_stride, to_list, width, n); \
  }

MOVE(move_f32_f64, float, double)
MOVE(move_f64_f32, double, float)
MOVE(move_f64_f64, double, double)

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
