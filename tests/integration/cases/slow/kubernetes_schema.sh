#!/bin/sh
# kubernetes_schema.sh - docker/kubernetes against Kubernetes' own schema, which
# PyPI's kubernetes-validate brings.
. tests/integration/lib/lib.inc
"$python" -m pip install --quiet --target "$work/pip" kubernetes-validate \
    >"$work/pip.log" 2>&1 || {
    echo "skipped: no kubernetes-validate: $(tail -n 1 "$work/pip.log")"
    finish_test
    exit
}
for file in docker/kubernetes/*.yaml; do
    check
    PYTHONPATH=$work/pip "$python" -m kubernetes_validate --strict --quiet "$file" ||
        fault "$file"
done
# It finds what is wrong.
sed 's/fsGroup:/fsGrup:/' docker/kubernetes/redis.yaml >"$work/wrong.yaml"
check
PYTHONPATH=$work/pip "$python" -m kubernetes_validate --strict --quiet "$work/wrong.yaml" \
    >/dev/null 2>&1 && fault "fsGrup is taken"
finish_test
