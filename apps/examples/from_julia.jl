# Stratum from Julia, by its C interface: -u_xx - 1000 u_yy = 1 on 127 x 127 unknowns by sparse columns, which are the rows of
# a symmetric matrix. It takes a shared library (-DBUILD_SHARED_LIBS=ON):
#     STRATUM_LIBRARY=$HOME/stratum/lib/libstratum.so julia from_julia.jl
using LinearAlgebra, SparseArrays

const library = get(ENV, "STRATUM_LIBRARY", "libstratum")

struct StratumResult
    iterations::Cint
    initial_residual::Cdouble
    residual::Cdouble
    seconds::Cdouble
    at_rounding::Cint
    estimated_error::Cdouble
end

"Solves A x = b on a grid of nx x ny unknowns, numbered along x first: (x, result)."
function solve(A::SparseMatrixCSC{Float64}, b::Vector{Float64}, nx::Integer, ny::Integer)
    start, column = Cint.(A.colptr .- 1), Cint.(A.rowval .- 1)    # from 0
    solver = @ccall library.stratum_create_csr(length(b)::Cint, start::Ptr{Cint}, column::Ptr{Cint}, A.nzval::Ptr{Cdouble},
        nx::Cint, ny::Cint, C_NULL::Ptr{Cdouble}, C_NULL::Ptr{Cdouble}, C_NULL::Ptr{Cvoid})::Ptr{Cvoid}
    x, result = zero(b), Ref{StratumResult}()
    status = @ccall library.stratum_solve(solver::Ptr{Cvoid}, b::Ptr{Cdouble}, x::Ptr{Cdouble}, result::Ref{StratumResult})::Cint
    reason = unsafe_string(@ccall library.stratum_last_error(solver::Ptr{Cvoid})::Cstring)
    @ccall library.stratum_destroy(solver::Ptr{Cvoid})::Cvoid
    status == 0 || error(reason)
    return x, result[]
end

n = 127
line = spdiagm(-1 => fill(-1.0, n - 1), 0 => fill(2.0, n), 1 => fill(-1.0, n - 1))
A = kron(sparse(I, n, n), line) + 1000 * kron(line, sparse(I, n, n))
b = ones(n * n)
x, result = solve(A, b, n, n)
println(result.iterations, " iterations, true residual ", round(norm(b - A * x) / norm(b), sigdigits = 2))
