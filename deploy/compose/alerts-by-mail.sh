#!/bin/sh
# Starts Alertmanager with deploy/observability/alertmanager.yaml and the mail server of accounts: SMTP_HOST, SMTP_PORT,
# SMTP_SECURITY, SMTP_USERNAME, SMTP_PASSWORD (or …_FILE), MAIL_FROM. Mails go to ALERTS_TO, or else to ACME_EMAIL. Without a
# mail server or an address it shows alerts and mails nothing.
set -eu
umask 077
folder=${FOLDER:-/run/alertmanager}
to=${ALERTS_TO:-${ACME_EMAIL:-}}
case ${SMTP_SECURITY:-starttls} in
tls) port=465 ;;
none) port=25 ;;
*) port=587 ;;
esac
as_text() { printf '%s' "$1" | sed "s/'/''/g; s/[&|\\\\]/\\\\&/g"; } # in a quoted string of YAML, then in sed's
set_value() { sed "s|^\\( *$1: \\).*|\\1'$(as_text "$2")'|" "$folder/settings" >"$folder/next" && mv "$folder/next" "$folder/settings"; }

cp "${TEMPLATE:-/alertmanager.yaml}" "$folder/settings"
if [ -z "${SMTP_HOST:-}" ] || [ -z "$to" ]; then
  echo "nobody is mailed: set SMTP_HOST, MAIL_FROM and ALERTS_TO (or ACME_EMAIL)" >&2
  sed '/email_configs/d; /{to:/d; /smtp_/d; s/^global:/global: {}/' "$folder/settings" >"$folder/next" && mv "$folder/next" "$folder/settings"
else
  set_value smtp_smarthost "$SMTP_HOST:${SMTP_PORT:-$port}"
  set_value smtp_from "$MAIL_FROM"
  sed "s|{to: [^,]*|{to: '$(as_text "$to")'|" "$folder/settings" >"$folder/next" && mv "$folder/next" "$folder/settings"
  if [ -n "${SMTP_USERNAME:-}" ]; then
    if [ -s "${SMTP_PASSWORD_FILE:-}" ]; then SMTP_PASSWORD=$(cat "$SMTP_PASSWORD_FILE"); fi
    printf %s "${SMTP_PASSWORD:-}" >"$folder/smtp_password"
    set_value smtp_auth_username "$SMTP_USERNAME"
    set_value smtp_auth_password_file "$folder/smtp_password"
  else
    sed '/smtp_auth_/d' "$folder/settings" >"$folder/next" && mv "$folder/next" "$folder/settings"
  fi
  if [ "${SMTP_SECURITY:-}" = none ]; then
    sed 's/^global:/&\n  smtp_require_tls: false/' "$folder/settings" >"$folder/next" && mv "$folder/next" "$folder/settings"
  fi
fi
exec alertmanager --config.file="$folder/settings" --storage.path="$folder" --cluster.listen-address=
