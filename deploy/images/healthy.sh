#!/bin/bash
# healthy PATH [SECONDS]: asks the process in this container, and fails unless it answers 200 within that time.
# In bash alone: a Python for it takes 0.15 s of CPU, which ten containers would spend six times a minute.
exec 3<>/dev/tcp/127.0.0.1/8000 || exit 1
printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
read -r -t "${2:-2}" _ status _ <&3 && [ "$status" = 200 ]
