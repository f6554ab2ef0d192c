/* test_audit.c - nothing executed hides from the log. */
#include <string.h>

#include "audit.h"
#include "suite.h"

static const struct {
    const char *text;
    bool wanted;
} texts[] = {
    {"ADMIN EXECUTE ON 1 'x'", true},
    {"  admin\n\texecute on 1 'x'", true},
    {"/* hi */ ADMIN /* there */ EXECUTE ON 1 'x'", true},
    {"-- hi\nADMIN EXECUTE ON 1 'x'", true},
    {"# hi\nADMIN EXECUTE ON 1 'x'", true},
    {"/*!40000 ADMIN EXECUTE ON 1 'x' */", true},
    {"/*!ADMIN*/ EXECUTE ON 1 'x'", true},
    {"/*!50000 /*! x */ ADMIN EXECUTE ON 1 'x' */", true},
    {"/*!40000*/ADMIN EXECUTE ON 1 'x'", true},
    {"/*M!100000 ADMIN EXECUTE ON 1 'x' */", false}, /* a comment to us */
    {"ADMIN/*!50000EXECUTE*/ ON 1 'x'", true},
    {";;ADMIN EXECUTE ON 1 'x'", true},
    {"SET STATEMENT heapwire_timeout=5 FOR ADMIN EXECUTE ON 1 'x'", true},
    {"/**/set/**/statement a=1,b=2 for/**/admin execute ON 1 'x'", true},
    {"SET STATEMENT heapwire_timeout=5 FOR CALL admin_execute(1, 'x')", true},
    {"SET STATEMENT heapwire_timeout=5 FOR SELECT 1", false},
    {"SET a = 'FOR ADMIN EXECUTE'", false},
    {"SET 'unfinished", false},
    {"ADMIN EXECUTE /*+ heapwire_timeout(5) */ ON 1 'x'", true},
    {"", false},
    {";", false},
    {"/* unfinished", false},
    {"/*", false},
    {"ADMIN", false},
    {"ADMIN SHOW", false},
    {"SELECT 'ADMIN EXECUTE'", false},
    {"/* ADMIN EXECUTE */ SELECT 1", false},
};

START_TEST(admin_execute_is_known_in_any_dress)
{
    struct span text = {texts[_i].text, strlen(texts[_i].text)};
    struct audit audit;

    audit_begin(&audit, text, NULL, NULL);
    ck_assert_msg((audit.text != NULL) == texts[_i].wanted, "%s",
                  texts[_i].text);
    audit_fini(&audit);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("audit");
    TCase *tc = tcase_create("audit");

    tcase_add_loop_test(tc, admin_execute_is_known_in_any_dress, 0,
                        sizeof(texts) / sizeof(texts[0]));
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
