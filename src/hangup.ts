import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * Maximum number of parent processes that are checked. Between this process and an interactive shell there are usually
 * few: npm, sh, a script or two.
 */
const ANCESTORS_MAX = 32
const HANGUP = 1n

/**
 * Returns true if SIGHUP must be ignored: the process has no terminal, or a parent process ignores the signal (`nohup`,
 * `trap '' HUP`).
 *
 * Node resets ignored signals at its start (nodejs/node#28999), so this process cannot read its own state. Under
 * `nohup`, no standard stream is a terminal. For a shell with `trap`, SigIgn of the parent processes in the same
 * process group is read (Linux only).
 */
export function isHangupIgnored(): boolean {
  return ![0, 1, 2].some((fd) => isatty(fd)) || ancestorIgnoresHangup()
}

function ancestorIgnoresHangup(): boolean {
  try {
    const { group } = readStat(process.pid)
    let pid = process.ppid
    for (let i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
      const stat = readStat(pid)
      if (stat.group !== group) return false
      const [, mask = '0'] = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      if (BigInt(`0x${mask}`) & HANGUP) return true
      pid = stat.parent
    }
  } catch {
    // The system has no /proc, or a parent process has just ended.
  }
  return false
}

function readStat(pid: number): { parent: number; group: number } {
  // The greedy `.*` skips the process name, which is in parentheses and may contain anything.
  const [, parent, group] = /.*\) \S (\d+) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
  return { parent: Number(parent), group: Number(group) }
}
