; What the kernels find around them: NumPy's generator PCG64, memory that is only ever taken, and
; products of 128 bits. The state is {low, high, low of the increment, high of the increment}.

define i64 @next_uint64(i64 %address) {
  %at = trunc i64 %address to i32
  %state = inttoptr i32 %at to ptr
  %increment_at = getelementptr i8, ptr %state, i32 16
  %s = load i128, ptr %state, align 8
  %increment = load i128, ptr %increment_at, align 8
  %product = mul i128 %s, 47026247687942121848144207491837523525
  %next = add i128 %product, %increment
  store i128 %next, ptr %state, align 8
  %upper = lshr i128 %next, 64
  %high = trunc i128 %upper to i64
  %low = trunc i128 %next to i64
  %mixed = xor i64 %high, %low
  %turn = lshr i64 %high, 58
  %bits = call i64 @llvm.fshr.i64(i64 %mixed, i64 %mixed, i64 %turn)
  ret i64 %bits
}
declare i64 @llvm.fshr.i64(i64, i64, i64)

define double @next_double(i64 %address) {
  %bits = call i64 @next_uint64(i64 %address)
  %upper = lshr i64 %bits, 11
  %whole = uitofp i64 %upper to double
  %unit = fmul double %whole, 0x3CA0000000000000
  ret double %unit
}

; Which entries of the table of functions a bitgen_t names.
define i32 @uint64_entry() {
  %i = ptrtoint ptr @next_uint64 to i32
  ret i32 %i
}
define i32 @double_entry() {
  %i = ptrtoint ptr @next_double to i32
  ret i32 %i
}

; wasm32 has no product of 128 bits, and LLVM calls this one. Optimised, it would call itself.
define void @__multi3(ptr %to, i64 %al, i64 %ah, i64 %bl, i64 %bh) noinline optnone {
  %a0 = and i64 %al, 4294967295
  %a1 = lshr i64 %al, 32
  %b0 = and i64 %bl, 4294967295
  %b1 = lshr i64 %bl, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %c0 = lshr i64 %p00, 32
  %p01l = and i64 %p01, 4294967295
  %p10l = and i64 %p10, 4294967295
  %m0 = add i64 %c0, %p01l
  %m1 = add i64 %m0, %p10l
  %c1 = lshr i64 %m1, 32
  %p01h = lshr i64 %p01, 32
  %p10h = lshr i64 %p10, 32
  %h0 = add i64 %p11, %p01h
  %h1 = add i64 %h0, %p10h
  %h2 = add i64 %h1, %c1
  %x0 = mul i64 %al, %bh
  %x1 = mul i64 %ah, %bl
  %h3 = add i64 %h2, %x0
  %h4 = add i64 %h3, %x1
  %low = mul i64 %al, %bl
  store i64 %low, ptr %to, align 8
  %high_at = getelementptr i8, ptr %to, i32 8
  store i64 %h4, ptr %high_at, align 8
  ret void
}

; Arrays that a text makes: taken from the top of memory, given back all at once after the run.
@top = internal global i32 0
define void @take_from(i32 %address) {
  store i32 %address, ptr @top
  ret void
}
define noalias ptr @NRT_MemInfo_alloc_aligned(i64 %bytes, i32 %align) {
  %at = load i32, ptr @top
  %n = trunc i64 %bytes to i32
  %padded = add i32 %n, 127
  %rounded = and i32 %padded, -64
  %end = add i32 %at, %rounded
  store i32 %end, ptr @top
  %info = inttoptr i32 %at to ptr
  %data = getelementptr i8, ptr %info, i32 64
  %field = getelementptr {i64, ptr, ptr, ptr, i64, ptr}, ptr %info, i32 0, i32 3
  store ptr %data, ptr %field
  store i64 1, ptr %info
  ret ptr %info
}
define void @NRT_MemInfo_call_dtor(ptr %info) {
  ret void
}

; The minimum of an array looks at it as one row; an array of a block lies in one piece.
define i32 @numba_attempt_nocopy_reshape(i64 %n, ptr %shape, ptr %strides, i64 %rows, ptr %new_shape,
    ptr %new_strides, i64 %size, i32 %order) {
  %one = icmp eq i64 %rows, 1
  br i1 %one, label %row, label %other
row:
  store i64 %size, ptr %new_strides, align 8
  ret i32 1
other:
  call void @llvm.trap()
  unreachable
}
declare void @llvm.trap()
