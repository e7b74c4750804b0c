#!/bin/sh
# A filter in a pipe: texts come in on standard input, and no original is written anywhere.
#
#   sh examples/shell_pipe.sh < letters.txt
#   WORDVEIL_URL=http://127.0.0.1:8765 sh examples/shell_pipe.sh < letters.txt
#
# With WORDVEIL_URL a running service does the work, otherwise this machine does.
set -eu
epsilon="${EPSILON:-4}"
if [ -n "${WORDVEIL_URL:-}" ]; then
    python3 -c 'import json, sys
for line in sys.stdin: print(json.dumps({"text": line.rstrip("\n")}))' |
        curl --silent --show-error --fail --no-buffer -X POST -T - -H "Content-Type: application/x-ndjson" \
            ${WORDVEIL_KEY:+-H "Authorization: Bearer $WORDVEIL_KEY"} \
            "$WORDVEIL_URL/v1/privatize/stream?epsilon=$epsilon" |
        python3 -c 'import json, sys
for line in sys.stdin: print(json.loads(line)["text"])'
else
    wordveil privatize --epsilon "$epsilon" --quiet
fi
