! Stratum from Fortran, by its C interface: -u_xx - 1000 u_yy = 1 on 127 x 127 unknowns by sparse rows. Indices count from 0.
module stratum
  use, intrinsic :: iso_c_binding
  implicit none

  type, bind(c) :: stratum_result
    integer(c_int) :: iterations
    real(c_double) :: initial_residual, residual, seconds
    integer(c_int) :: at_rounding
    real(c_double) :: estimated_error
  end type stratum_result

  interface
    ! widths and options: c_null_ptr are the defaults
    function stratum_create_csr(n, start, column, value, nx, ny, widths_x, widths_y, options) result(solver) bind(c)
      import :: c_ptr, c_int, c_double
      integer(c_int), value :: n, nx, ny
      integer(c_int), intent(in) :: start(*), column(*)
      real(c_double), intent(in) :: value(*)
      type(c_ptr), value :: widths_x, widths_y, options
      type(c_ptr) :: solver
    end function stratum_create_csr

    function stratum_solve(solver, b, x, found) result(status) bind(c)
      import :: c_ptr, c_int, c_double, stratum_result
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: b(*)
      real(c_double), intent(inout) :: x(*)
      type(stratum_result), intent(out) :: found
      integer(c_int) :: status
    end function stratum_solve

    function stratum_last_error(solver) result(text) bind(c)
      import :: c_ptr
      type(c_ptr), value :: solver
      type(c_ptr) :: text
    end function stratum_last_error

    subroutine stratum_destroy(solver) bind(c)
      import :: c_ptr
      type(c_ptr), value :: solver
    end subroutine stratum_destroy
  end interface

contains

  ! The reason of the latest call, of at most 500 characters.
  function reason(solver) result(text)
    type(c_ptr), intent(in) :: solver
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: k
    call c_f_pointer(stratum_last_error(solver), letters, [500])
    text = ''
    do k = 1, 500
      if (letters(k) == c_null_char) exit
      text = text//letters(k)
    end do
  end function reason
end module stratum

program from_fortran
  use stratum
  implicit none
  integer(c_int), parameter :: n = 127
  real(c_double), parameter :: cy = 1000
  integer(c_int) :: start(0:n * n), column(5 * n * n), status
  integer :: i, j, row, entries
  real(c_double) :: value(5 * n * n), b(n * n), x(n * n)
  type(stratum_result) :: found
  type(c_ptr) :: solver

  entries = 0
  do j = 0, n - 1
    do i = 0, n - 1
      row = j * n + i
      start(row) = entries
      call add(row, 2 + 2 * cy)
      if (i > 0) call add(row - 1, -1.0_c_double)
      if (i < n - 1) call add(row + 1, -1.0_c_double)
      if (j > 0) call add(row - n, -cy)
      if (j < n - 1) call add(row + n, -cy)
    end do
  end do
  start(n * n) = entries
  b = 1
  x = 0

  solver = stratum_create_csr(n * n, start, column, value, n, n, c_null_ptr, c_null_ptr, c_null_ptr)
  status = stratum_solve(solver, b, x, found)
  if (status == 0) then
    print '(i0, a, es7.1, a, es7.1)', found%iterations, ' iterations, residual ', found%initial_residual, ' to ', found%residual
  else
    print '(a)', reason(solver)
  end if
  call stratum_destroy(solver)
  if (status /= 0) stop 1

contains

  subroutine add(to, entry)
    integer, intent(in) :: to
    real(c_double), intent(in) :: entry
    entries = entries + 1
    column(entries) = to
    value(entries) = entry
  end subroutine add
end program from_fortran
