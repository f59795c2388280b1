! predict.f90: the program of predict.c in Fortran: load a trained operator and predict one sample of a data set.
!   gfortran predict.f90 $(pkg-config --libs dkho) -o predict && ./predict runs/flux darcy.st
module dkho
  use, intrinsic :: iso_c_binding
  implicit none

  type, bind(c) :: field_info
    type(c_ptr) :: name, role
    integer(c_int) :: degree, channels
    integer(c_int64_t) :: rows
  end type field_info

  interface
    type(c_ptr) function dkho_error() bind(c)
      import
    end function dkho_error
    integer(c_int) function dkho_model_load(model, path) bind(c)
      import
      type(c_ptr), intent(out) :: model
      character(kind=c_char), intent(in) :: path(*)
    end function dkho_model_load
    subroutine dkho_model_free(model) bind(c)
      import
      type(c_ptr), value :: model
    end subroutine dkho_model_free
    integer(c_int) function dkho_model_inputs(model) bind(c)
      import
      type(c_ptr), value :: model
    end function dkho_model_inputs
    integer(c_int) function dkho_model_input(model, i, info) bind(c)
      import
      type(c_ptr), value :: model
      integer(c_int), value :: i
      type(field_info), intent(out) :: info
    end function dkho_model_input
    integer(c_int) function dkho_model_output(model, info) bind(c)
      import
      type(c_ptr), value :: model
      type(field_info), intent(out) :: info
    end function dkho_model_output
    integer(c_int) function dkho_model_predict(model, threads, batch, inputs, output) bind(c)
      import
      type(c_ptr), value :: model
      integer(c_int), value :: threads
      integer(c_int64_t), value :: batch
      type(c_ptr), intent(in) :: inputs(*)
      real(c_float), intent(out) :: output(*)
    end function dkho_model_predict
    integer(c_int) function dkho_dataset_open(data, path) bind(c)
      import
      type(c_ptr), intent(out) :: data
      character(kind=c_char), intent(in) :: path(*)
    end function dkho_dataset_open
    subroutine dkho_dataset_free(data) bind(c)
      import
      type(c_ptr), value :: data
    end subroutine dkho_dataset_free
    integer(c_int) function dkho_dataset_find(data, name) bind(c)
      import
      type(c_ptr), value :: data, name
    end function dkho_dataset_find
    type(c_ptr) function dkho_dataset_value(data, field, sample) bind(c)
      import
      type(c_ptr), value :: data
      integer(c_int), value :: field
      integer(c_int64_t), value :: sample
    end function dkho_dataset_value
  end interface

contains

  ! A C string as a Fortran one.
  function text(from) result(to)
    type(c_ptr), intent(in) :: from
    character(len=:), allocatable :: to
    character(kind=c_char), pointer :: c(:)
    integer :: n
    call c_f_pointer(from, c, [1024])
    n = 0
    do while (c(n + 1) /= c_null_char)
      n = n + 1
    end do
    allocate (character(len=n) :: to)
    to = transfer(c(1:n), to)
  end function text

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == 0) return
    write (*, '(a)') text(dkho_error())
    stop 1
  end subroutine check

end module dkho

program predict
  use dkho
  implicit none
  type(c_ptr) :: model, data
  type(c_ptr), allocatable :: inputs(:)
  type(field_info) :: field
  real(c_float), allocatable :: output(:)
  character(len=1024) :: run, file
  integer(c_int) :: i
  integer(c_int64_t) :: n

  if (command_argument_count() /= 2) stop 'usage: predict RUN|MODEL DATA'
  call get_command_argument(1, run)
  call get_command_argument(2, file)
  call check(dkho_model_load(model, trim(run)//c_null_char))
  call check(dkho_dataset_open(data, trim(file)//c_null_char))

  allocate (inputs(dkho_model_inputs(model)))
  do i = 1, int(size(inputs), c_int)
    call check(dkho_model_input(model, i - 1_c_int, field))
    inputs(i) = dkho_dataset_value(data, dkho_dataset_find(data, field%name), 0_c_int64_t)
  end do
  call check(dkho_model_output(model, field))
  n = field%rows*field%channels
  allocate (output(n))
  call check(dkho_model_predict(model, 0_c_int, 1_c_int64_t, inputs, output))

  write (*, '(a,a,i0,a,i0,a,es12.6)') text(field%name), ': ', n, ' values of degree ', field%degree, ', mean square ', &
    sum(real(output, c_double)**2)/real(n, c_double)
  deallocate (inputs, output)
  call dkho_dataset_free(data)
  call dkho_model_free(model)
end program predict
