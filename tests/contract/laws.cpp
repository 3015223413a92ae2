#include "contract/laws.h"

#include <array>

namespace isomer::contract {

std::span<const Law> laws() {
  static constexpr std::array kLaws{
      Law{"ShapesAreThoseComputed", shapes_are_those_computed},
      Law{"DoubleAgreesWithNative", double_agrees_with_native},
      Law{"ElementsAgreeWithTheWhole", elements_agree_with_the_whole},
      Law{"LinearityIsTrue", linearity_is_true},
      Law{"ZeroIsPreservedWhereSaid", zero_is_preserved_where_said},
      Law{"NeededRegionsSuffice", needed_regions_suffice},
      Law{"AxisRolesAreTrue", axis_roles_are_true},
  };
  return kLaws;
}

}  // namespace isomer::contract
