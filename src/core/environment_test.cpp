#include "core/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

namespace trireme {
namespace {

TEST(Environment, DeclaresEachVariableOnceAndWhole) {
  std::set<std::string_view> names;
  for (const EnvironmentVariable& variable : environment_variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    for (const std::string_view text : {variable.reader, variable.meaning, variable.otherwise}) {
      ASSERT_FALSE(text.empty()) << variable.name;
      EXPECT_NE(text.back(), '.') << variable.name;
    }
  }
}

TEST(Environment, GivesTheValueOfADeclaredVariable) {
  const std::optional<std::string> before = environment_value("TRIREME_GPT2_VOCAB");
  ::setenv("TRIREME_GPT2_VOCAB", "somewhere", 1);
  EXPECT_EQ(environment_value("TRIREME_GPT2_VOCAB"), "somewhere");
  ::setenv("TRIREME_GPT2_VOCAB", "", 1);
  EXPECT_EQ(environment_value("TRIREME_GPT2_VOCAB"), std::nullopt);
  ::unsetenv("TRIREME_GPT2_VOCAB");
  EXPECT_EQ(environment_value("TRIREME_GPT2_VOCAB"), std::nullopt);
  if (before) ::setenv("TRIREME_GPT2_VOCAB", before->c_str(), 1);
}

TEST(EnvironmentDeathTest, HasNoVariableThatIsNotDeclared) {
  EXPECT_DEATH((void)environment_value("TRIREME_NOT_DECLARED"), "is declared");
}

}  // namespace
}  // namespace trireme
