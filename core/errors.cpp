#include <stratum/core/errors.hpp>

#include <sstream>

namespace stratum::detail {

void MessagePart::print(std::ostream& out) const {
  switch (kind_) {
    case Kind::literal: out << text_; break;
    case Kind::text: out << std::string_view(text_, size_); break;
    case Kind::character: out << static_cast<char>(integer_); break;
    case Kind::integer: out << integer_; break;
    case Kind::natural: out << natural_; break;
    case Kind::number: out << number_; break;
    case Kind::address: out << address_; break;
    case Kind::other: print_other_(out, address_); break;
  }
}

std::string joined(std::initializer_list<MessagePart> parts) {
  std::ostringstream out;
  for (const MessagePart& part : parts) part.print(out);
  return out.str();
}

void throw_usage_error(std::initializer_list<MessagePart> parts) { throw UsageError(joined(parts)); }
void throw_breakdown(std::initializer_list<MessagePart> parts) { throw BreakdownError(joined(parts)); }

}  // namespace stratum::detail
