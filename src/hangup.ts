import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'

/** Maximum number of processes between this one and an interactive shell: npm, sh, a script or two. */
const ANCESTORS_MAX = 32
const HANGUP = 1n

/**
 * Returns whether to ignore SIGHUP: the process has no terminal, or its parent ignores the signal (`nohup`, `trap '' HUP`).
 * Node resets ignored signals at start and for its children (nodejs/node#28999), so this process cannot read its own state.
 * It detects `nohup` because no standard stream is a terminal then, and a shell by SigIgn of ancestors in its process group
 * (Linux only).
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
    // There is no /proc, or an ancestor has ended meanwhile.
  }
  return false
}

function readStat(pid: number): { parent: number; group: number } {
  // The greedy `.*` skips the process name, which is in parentheses and may contain anything.
  const [, parent, group] = /.*\) \S (\d+) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
  return { parent: Number(parent), group: Number(group) }
}
