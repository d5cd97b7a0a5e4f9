#pragma once
#include "corecrt.h"
template <class T> bool signbit(T) throw();
template <class T> bool isinf(T) throw();
template <class T> bool isnan(T) throw();
template <class T> bool isfinite(T) throw();
namespace std {
template <bool Condition, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool Condition, class T = void> using enable_if_t = typename enable_if<Condition, T>::type;
template <class T> constexpr bool is_arithmetic_v = true;
template <class One, class Other> using _Common_float_type_t = double;
}
extern "C" {
double _j0(double);
double _j1(double);
double _jn(int, double);
double _y0(double);
double _y1(double);
double _yn(int, double);
double _hypot(double, double);
}
