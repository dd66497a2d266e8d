# Usage: awk -f expired.awk. Reads the dates of backups (2026-11-27), one on each line in any order, and prints those
# that may be deleted. Keeps the newest seven, the newest of each of the last four weeks with a backup (a week begins on
# Monday), and the newest of each of the last six months with a backup. Ignores names that are no date.
function day_number(year, month, day) { # days since 1 March of year 0
  if (month < 3) { year--; month += 12 }
  return 365 * year + int(year / 4) - int(year / 100) + int(year / 400) + int((153 * (month - 3) + 2) / 5) + day - 1
}

/^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/ && !seen[$0]++ {
  for (at = ++count; at > 1 && dates[at - 1] < $0; at--) dates[at] = dates[at - 1] # newest first
  dates[at] = $0
}

END {
  for (at = 1; at <= count; at++) {
    split(dates[at], part, "-")
    week = int((day_number(part[1], part[2] + 0, part[3] + 0) + 2) / 7) # 1 March of year 0 was a Wednesday
    month = part[1] part[2]
    keep = at <= 7
    if (!(week in weeks)) { weeks[week]; if (++week_count <= 4) keep = 1 }
    if (!(month in months)) { months[month]; if (++month_count <= 6) keep = 1 }
    if (!keep) print dates[at]
  }
}
