#include <stratum/mesh/vtk/vtk_xml.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>

#include <stratum/core/errors.hpp>
#include <stratum/core/io/stored_number.hpp>
#include <stratum/core/io/whole_file.hpp>

#if defined(STRATUM_HAVE_VTK)
#include <vtkCallbackCommand.h>
#include <vtkLZ4DataCompressor.h>
#include <vtkLZMADataCompressor.h>
#include <vtkNew.h>
#include <vtkSmartPointer.h>
#include <vtkZLibDataCompressor.h>
#endif

namespace stratum::detail {

namespace {

constexpr std::string_view blanks = " \t\r\n";

constexpr StoredType types[] = {
    {"Float32", 4, stored_as_double<float>},      {"Float64", 8, stored_as_double<double>},
    {"Int8", 1, stored_as_double<std::int8_t>},   {"UInt8", 1, stored_as_double<std::uint8_t>},
    {"Int16", 2, stored_as_double<std::int16_t>}, {"UInt16", 2, stored_as_double<std::uint16_t>},
    {"Int32", 4, stored_as_double<std::int32_t>}, {"UInt32", 4, stored_as_double<std::uint32_t>},
    {"Int64", 8, stored_as_double<std::int64_t>}, {"UInt64", 8, stored_as_double<std::uint64_t>},
};

const StoredType* type_named(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(types), std::end(types), [&](const StoredType& type) { return name == type.name; });
  return found == std::end(types) ? nullptr : found;
}

/// Text between quotes, with what XML writes for quotes, & and <.
std::string unquoted(std::string_view text) {
  constexpr std::pair<std::string_view, char> entities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string result;
  while (!text.empty()) {
    const auto* const entity = std::find_if(std::begin(entities), std::end(entities),
                                            [&](const auto& known) { return text.starts_with(known.first); });
    const bool is_one = entity != std::end(entities);
    result += is_one ? entity->second : text.front();
    text.remove_prefix(is_one ? entity->first.size() : 1);
  }
  return result;
}

/// The six bits of a character of base64; -1 of any other.
int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

const char* element_of(VtkXmlFile::On on) { return on == VtkXmlFile::On::cells ? "CellData" : "PointData"; }

/// Characters that so many bytes take, groups of four for three.
std::size_t base64_length(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

/// Bytes as they stand, or in base64, from the front; empty where there are not so many.
std::optional<std::vector<unsigned char>> front_bytes(std::string_view from, bool base64, std::size_t count) {
  if (count > from.size()) return std::nullopt;
  if (!base64) {
    const auto* const data = reinterpret_cast<const unsigned char*>(from.data());
    return std::vector<unsigned char>(data, data + count);
  }
  if (base64_length(count) > from.size()) return std::nullopt;
  std::vector<unsigned char> bytes(count);
  for (std::size_t group = 0; 3 * group < count; ++group) {
    std::uint32_t bits = 0;
    const std::size_t there = std::min<std::size_t>(3, count - 3 * group);
    for (std::size_t k = 0; k < 4; ++k) {
      const int digit = base64_digit(from[4 * group + k]);
      if (digit < 0 && k <= there) return std::nullopt;
      bits = bits << 6U | static_cast<std::uint32_t>(std::max(digit, 0));
    }
    for (std::size_t k = 0; k < there; ++k) bytes[3 * group + k] = static_cast<unsigned char>(bits >> (16 - 8 * k));
  }
  return bytes;
}

#if defined(STRATUM_HAVE_VTK)

vtkSmartPointer<vtkDataCompressor> compressor_named(const std::string& name) {
  if (name == "vtkZLibDataCompressor") return vtkSmartPointer<vtkZLibDataCompressor>::New();
  if (name == "vtkLZ4DataCompressor") return vtkSmartPointer<vtkLZ4DataCompressor>::New();
  if (name == "vtkLZMADataCompressor") return vtkSmartPointer<vtkLZMADataCompressor>::New();
  return nullptr;
}

/// Fills `to` with what the block holds; what is wrong otherwise.
std::string uncompress(const std::string& name, const unsigned char* from, std::size_t length, unsigned char* to,
                       std::size_t size) {
  const auto compressor = compressor_named(name);
  if (compressor == nullptr) return message("its compressor '", shown(name, 40), "' is not known");
  vtkNew<vtkCallbackCommand> silent;
  silent->SetCallback([](vtkObject*, unsigned long, void*, void*) {});
  compressor->AddObserver(vtkCommand::ErrorEvent, silent);
  return compressor->Uncompress(from, length, to, size) == size ? "" : "is the file whole?";
}

#else

std::string uncompress(const std::string& /*name*/, const unsigned char* /*from*/, std::size_t /*length*/,
                       unsigned char* /*to*/, std::size_t /*size*/) {
  return "it is compressed, and this build has no VTK (Debian: libvtk9-dev)";
}

#endif

}  // namespace

VtkXmlFile::VtkXmlFile(const std::string& path, std::string_view kind)
    : path_(path), kind_(kind),
      content_(whole_file(path, [](std::string_view begin) { return begin.find('<') != std::string_view::npos; })) {
  parse();
  const Element& root = elements_.front();
  if (root.name != "VTKFile") broken();
  if (root.attribute("type") != kind_)
    fail(message("it is VTK's file of type '", shown(root.attribute("type"), 40), "', not of ", kind_));
  const Element* const grid = child(root, kind_);
  if (grid == nullptr) broken();
  whole_ = extent(*grid, "WholeExtent");
  for (std::size_t d = 0; d < 3; ++d)
    if (whole_.last[d] < whole_.first[d]) fail("its WholeExtent has no cells");
  for (const std::size_t k : grid->children) {
    if (elements_[k].name != "Piece") continue;
    const VtkExtent piece = extent(elements_[k], "Extent");
    // Pieces of several ranks may be empty.
    if (piece.points(0) <= 0 || piece.points(1) <= 0 || piece.points(2) <= 0) continue;
    for (std::size_t d = 0; d < 3; ++d)
      if (piece.first[d] < whole_.first[d] || piece.last[d] > whole_.last[d])
        fail(message("the Extent of piece ", pieces_.size() + 1, ", '", elements_[k].attribute("Extent"),
                     "', does not lie within the WholeExtent, '", grid->attribute("WholeExtent"), "'"));
    pieces_.push_back({piece, &elements_[k]});
  }
  if (pieces_.empty()) fail("it has no pieces");
}

void VtkXmlFile::fail(const std::string& reason) const {
  throw FileError(message("cannot read '", path_, "': ", reason));
}
void VtkXmlFile::broken() const { fail("it is none of VTK's XML files, or cut short; is the file whole?"); }

/// Elements with their attributes and text, up to the appended data, which are not XML.
void VtkXmlFile::parse() {
  const std::string_view all = content_;
  constexpr std::size_t deepest = 32;
  std::vector<std::size_t> open;
  std::size_t at = 0;
  const auto behind = [&](std::string_view end) {
    const auto found = all.find(end, at);
    if (found == std::string_view::npos) broken();
    return found + end.size();
  };
  while (true) {
    const auto begin = all.find('<', at);
    if (begin == std::string_view::npos) broken();
    if (elements_.empty() && all.substr(at, begin - at).find_first_not_of(blanks) != std::string_view::npos) broken();
    const bool first_text = !open.empty() && elements_[open.back()].children.empty();
    if (first_text && elements_[open.back()].text.data() == nullptr)
      elements_[open.back()].text = all.substr(at, begin - at);
    at = begin;
    if (all.substr(at).starts_with("<?")) {
      at = behind("?>");
    } else if (all.substr(at).starts_with("<!--")) {
      at = behind("-->");
    } else if (all.substr(at).starts_with("<!")) {
      at = behind(">");
    } else if (all.substr(at).starts_with("</")) {
      const auto end = behind(">");
      std::string_view name = all.substr(at + 2, end - at - 3);
      name = name.substr(0, std::min(name.find_first_of(blanks), name.size()));
      if (open.empty() || elements_[open.back()].name != name) broken();
      open.pop_back();
      at = end;
      if (open.empty()) return;
    } else {
      Element element;
      ++at;
      const auto word_end = std::min(all.find_first_of(" \t\r\n/>", at), all.size());
      element.name = all.substr(at, word_end - at);
      at = word_end;
      bool closed = false;
      while (true) {
        at = std::min(all.find_first_not_of(blanks, at), all.size());
        if (at == all.size()) broken();
        if (all[at] == '>') break;
        if (all[at] == '/') {
          closed = true;
          ++at;
          continue;
        }
        const auto equals = all.find('=', at);
        if (equals == std::string_view::npos) broken();
        std::string_view name = all.substr(at, equals - at);
        name = name.substr(0, std::min(name.find_first_of(blanks), name.size()));
        const auto quote = std::min(all.find_first_not_of(blanks, equals + 1), all.size());
        if (quote == all.size() || (all[quote] != '"' && all[quote] != '\'')) broken();
        const auto end = all.find(all[quote], quote + 1);
        if (end == std::string_view::npos) broken();
        element.attributes[std::string(name)] = unquoted(all.substr(quote + 1, end - quote - 1));
        at = end + 1;
      }
      ++at;
      if (open.empty() && !elements_.empty()) broken();
      if (!open.empty()) elements_[open.back()].children.push_back(elements_.size());
      if (element.name == "AppendedData") {
        const auto underscore = std::min(all.find_first_not_of(blanks, at), all.size());
        if (underscore == all.size() || all[underscore] != '_') broken();
        appended_ = all.substr(underscore + 1);
        appended_base64_ = element.attribute("encoding", "base64") == "base64";
        const auto end = appended_base64_ ? appended_.find('<') : appended_.rfind("</AppendedData");
        if (end == std::string_view::npos) broken();
        appended_ = appended_.substr(0, end);
        return;
      }
      elements_.push_back(std::move(element));
      if (!closed) open.push_back(elements_.size() - 1);
      if (open.size() > deepest) broken();
      if (open.empty()) return;
    }
  }
}

const VtkXmlFile::Element* VtkXmlFile::child(const Element& of, std::string_view name) const {
  for (const std::size_t k : of.children)
    if (elements_[k].name == name) return &elements_[k];
  return nullptr;
}

VtkExtent VtkXmlFile::extent(const Element& of, const std::string& attribute) const {
  const std::string text = of.attribute(attribute);
  const auto refuse = [&] { fail(message("its ", attribute, " is '", shown(text, 60), "', not six whole numbers")); };
  VtkExtent found;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t d = 0; d < 3; ++d)
    for (std::int64_t* const to : {&found.first[d], &found.last[d]}) {
      while (at < end && blanks.find(*at) != std::string_view::npos) ++at;
      int value = 0;
      const auto [stop, error] = std::from_chars(at, end, value);
      if (error != std::errc()) refuse();
      *to = value;
      at = stop;
    }
  if (std::any_of(at, end, [](char c) { return blanks.find(c) == std::string_view::npos; })) refuse();
  return found;
}

std::vector<const VtkXmlFile::Element*> VtkXmlFile::arrays_of(const Element* group) const {
  std::vector<const Element*> arrays;
  if (group == nullptr) return arrays;
  for (const std::size_t k : group->children) {
    const Element& array = elements_[k];
    if (array.name != "DataArray" || type_named(array.attribute("type")) == nullptr) continue;
    const auto name = array.attribute("Name");
    // One of a later time has the name of the first.
    const bool again = array.attributes.count("TimeStep") > 0 &&
                       std::any_of(arrays.begin(), arrays.end(),
                                   [&](const Element* before) { return before->attribute("Name") == name; });
    if (!again) arrays.push_back(&array);
  }
  return arrays;
}

std::vector<std::string> VtkXmlFile::arrays(On on) const {
  std::vector<std::string> names;
  for (const Element* array : arrays_of(child(*pieces_.front().element, element_of(on))))
    names.push_back(array->attribute("Name"));
  return names;
}

VtkXmlFile::Array VtkXmlFile::array(On on, std::size_t k) const {
  const std::string name = arrays(on).at(k);
  const std::string what = message("array '", shown(name, 40), "'");
  std::vector<const Element*> of_pieces;
  for (const Piece& piece : pieces_) {
    const auto arrays = arrays_of(child(*piece.element, element_of(on)));
    const auto found = &piece == &pieces_.front()
                           ? arrays.begin() + static_cast<std::ptrdiff_t>(k)
                           : std::find_if(arrays.begin(), arrays.end(),
                                          [&](const Element* array) { return array->attribute("Name") == name; });
    if (found == arrays.end()) fail(message("piece ", of_pieces.size() + 1, " lacks ", what));
    of_pieces.push_back(*found);
  }
  return gather(on, what, of_pieces);
}

VtkXmlFile::Array VtkXmlFile::points() const {
  std::vector<const Element*> of_pieces;
  for (const Piece& piece : pieces_) {
    const auto arrays = arrays_of(child(*piece.element, "Points"));
    if (arrays.empty()) fail(message("piece ", of_pieces.size() + 1, " has no points"));
    of_pieces.push_back(arrays.front());
  }
  Array array = gather(On::points, "the array of points", of_pieces);
  if (array.components != 3) fail(message("its points have ", array.components, " coordinates, not three"));
  return array;
}

VtkXmlFile::Array VtkXmlFile::gather(On on, const std::string& what,
                                     const std::vector<const Element*>& of_pieces) const {
  const auto across = [on](const VtkExtent& e, std::size_t d) { return on == On::cells ? e.cells(d) : e.points(d); };
  const auto count = [&](const VtkExtent& e) { return across(e, 0) * across(e, 1) * across(e, 2); };
  const char* const places = on == On::cells ? "cells" : "nodes";
  const auto lacking = [&](std::int64_t missing) {
    fail(message("its pieces do not cover its WholeExtent: ", missing, " of ", count(whole_), ' ', places,
                 " have no number in ", what));
  };
  std::int64_t given = 0;
  for (const Piece& piece : pieces_) given += count(piece.extent);
  if (given < count(whole_)) lacking(count(whole_) - given);  // before room is made for all

  Array all;
  std::vector<bool> known;
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    const Element& array = *of_pieces[p];
    const std::string components = array.attribute("NumberOfComponents", "1");
    int number = 0;
    const auto [end, error] = std::from_chars(components.data(), components.data() + components.size(), number);
    constexpr int most_components = 16;
    if (error != std::errc() || end != components.data() + components.size() || number < 1 || number > most_components)
      fail(message(what, " has '", shown(components, 12), "' components; one to ", most_components, " are known"));
    if (p > 0 && number != all.components)
      fail(message(what, " has ", number, " components in piece ", p + 1, " and ", all.components, " in the first"));
    all.components = number;
    const VtkExtent& piece = pieces_[p].extent;
    const auto each = static_cast<std::size_t>(number);
    const auto own = numbers(array, pieces_.size() > 1 ? message(what, " of piece ", p + 1) : what,
                             static_cast<std::size_t>(count(piece)) * each);
    if (p == 0) {
      all.values.resize(static_cast<std::size_t>(count(whole_)) * each);
      known.resize(static_cast<std::size_t>(count(whole_)));
    }
    std::size_t from = 0;
    for (std::int64_t k = 0; k < across(piece, 2); ++k)
      for (std::int64_t j = 0; j < across(piece, 1); ++j)
        for (std::int64_t i = 0; i < across(piece, 0); ++i, from += each) {
          const std::int64_t x = i + piece.first[0] - whole_.first[0], y = j + piece.first[1] - whole_.first[1],
                             z = k + piece.first[2] - whole_.first[2];
          const auto place = static_cast<std::size_t>((z * across(whole_, 1) + y) * across(whole_, 0) + x);
          for (std::size_t c = 0; c < each; ++c) {
            double& to = all.values[place * each + c];
            const bool differs = to != own[from + c] && (to == to || own[from + c] == own[from + c]);
            if (known[place] && differs)
              fail(message("two pieces overlap and differ: ", what, " is ", to, " and ", own[from + c], " at (", x,
                           ", ", y, ")"));
            to = own[from + c];
          }
          known[place] = true;
        }
  }
  const auto missing = std::count(known.begin(), known.end(), false);
  if (missing > 0) lacking(missing);
  return all;
}

std::vector<double> VtkXmlFile::numbers(const Element& array, const std::string& what, std::size_t count) const {
  const Element& root = elements_.front();
  const bool appended = array.attributes.count("offset") > 0;
  std::string_view from = array.text;
  if (appended) {
    const std::string offset = array.attribute("offset");
    std::uint64_t at = 0;
    const auto [end, error] = std::from_chars(offset.data(), offset.data() + offset.size(), at);
    if (error != std::errc() || end != offset.data() + offset.size() || at > appended_.size())
      fail(message(what, " begins at the offset '", shown(offset, 24), "' of ", appended_.size(),
                   " appended bytes; is the file whole?"));
    from = appended_.substr(at);
  } else if (array.attribute("format", "ascii") != "binary") {
    return ascii_numbers(array, what, count);
  } else {
    from.remove_prefix(std::min(from.find_first_not_of(blanks), from.size()));
  }
  const StoredType& type = *type_named(array.attribute("type"));
  const auto stored = bytes(from, !appended || appended_base64_, what, type.size, count);
  const std::string order = root.attribute("byte_order");
  const bool little = std::endian::native == std::endian::little;
  const bool swapped = !order.empty() && (order == "LittleEndian") != little;
  std::vector<double> values(count);
  for (std::size_t k = 0; k < count; ++k) values[k] = type.read(&stored[k * type.size], swapped);
  return values;
}

std::vector<double> VtkXmlFile::ascii_numbers(const Element& array, const std::string& what, std::size_t count) const {
  std::vector<double> values;
  const std::string_view text = array.text;
  for (std::size_t at = text.find_first_not_of(blanks); at < text.size(); at = text.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const bool plus = word.starts_with('+') && !word.starts_with("+-");
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data() + (plus ? 1 : 0), word.data() + word.size(), value);
    // Numbers below those of double are zero to VTK, too.
    const bool tiny = error == std::errc::result_out_of_range && word.find("e-") != std::string_view::npos;
    if ((error != std::errc() && !tiny) || stop != word.data() + word.size())
      fail(message(what, " has '", shown(word, 24), "' where a number should be"));
    values.push_back(tiny ? 0 : value);
    at = end;
  }
  if (values.size() != count) fail(message(what, " has ", values.size(), " numbers, ", count, " are needed"));
  return values;
}

/// `count` numbers of `size` bytes: a header that says how many bytes there are, and these; or, compressed, how many blocks, of
/// what size, that of the last one if another, and what each of them takes here.
std::vector<unsigned char> VtkXmlFile::bytes(std::string_view from, bool base64, const std::string& what,
                                             std::size_t size, std::size_t count) const {
  const Element& root = elements_.front();
  const std::size_t word = root.attribute("header_type", "UInt32") == "UInt64" ? 8 : 4;
  const std::string compressor = root.attribute("compressor"), order = root.attribute("byte_order");
  const bool swapped = !order.empty() && (order == "LittleEndian") != (std::endian::native == std::endian::little);
  const auto cut_short = [&] { fail(message("it ends within ", what, "; is the file whole?")); };
  const auto words = [&](std::size_t how_many) {
    const auto found = how_many > from.size() ? std::nullopt : front_bytes(from, base64, how_many * word);
    if (!found) cut_short();
    std::vector<std::uint64_t> header(how_many);
    for (std::size_t k = 0; k < how_many; ++k)
      header[k] = word == 8 ? stored_number<std::uint64_t>(&(*found)[8 * k], swapped)
                            : stored_number<std::uint32_t>(&(*found)[4 * k], swapped);
    return header;
  };
  const auto expect_size = [&](std::uint64_t there) {
    if (there != size * count) fail(message(what, " has ", there / size, " numbers, ", count, " are needed"));
  };
  if (compressor.empty()) {
    expect_size(words(1)[0]);
    auto found = front_bytes(from, base64, word + size * count);
    if (!found) cut_short();
    found->erase(found->begin(), found->begin() + static_cast<std::ptrdiff_t>(word));
    return std::move(*found);
  }
  const auto sizes = words(3);
  const std::uint64_t blocks = sizes[0], block_size = sizes[1], last = sizes[2] > 0 ? sizes[2] : block_size;
  if (blocks > from.size()) cut_short();
  const bool overflows = block_size > std::numeric_limits<std::uint32_t>::max() || last > block_size;
  if (overflows || (blocks > 0 && block_size == 0)) cut_short();
  expect_size(blocks == 0 ? 0 : (blocks - 1) * block_size + last);
  const auto header = words(3 + static_cast<std::size_t>(blocks));
  const std::size_t header_bytes = header.size() * word;
  from.remove_prefix(std::min(base64 ? base64_length(header_bytes) : header_bytes, from.size()));
  std::size_t compressed = 0;
  for (std::size_t k = 3; k < header.size(); ++k) {
    if (header[k] > from.size() - std::min(compressed, from.size())) cut_short();
    compressed += static_cast<std::size_t>(header[k]);
  }
  const auto packed = front_bytes(from, base64, compressed);
  if (!packed) cut_short();
  std::vector<unsigned char> found(size * count);
  std::size_t at = 0, to = 0;
  for (std::size_t k = 3; k < header.size(); ++k) {
    const auto length = static_cast<std::size_t>(k + 1 == header.size() ? last : block_size);
    const std::string reason =
        uncompress(compressor, packed->data() + at, static_cast<std::size_t>(header[k]), found.data() + to, length);
    if (!reason.empty()) fail(message("a block of ", what, " cannot be read: ", reason));
    at += static_cast<std::size_t>(header[k]);
    to += length;
  }
  return found;
}

}  // namespace stratum::detail
