import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'

/** Processes between this one and the shell that a person types into: npm, sh, a script or two. */
const ANCESTORS_MAX = 32
const HANGUP = 1n

/**
 * Whether SIGHUP is to be ignored: there is no terminal whose end could be meant, or whoever started this process ignores the signal
 * (`nohup`, `trap '' HUP`). Node sets each signal back to its default when it starts and when it starts others (nodejs/node#28999), so
 * this process cannot look at itself: `nohup` is known by the terminal that it takes away from all three streams, and a shell by SigIgn of
 * the ancestors in our process group, on Linux.
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
    // No /proc, or an ancestor has ended.
  }
  return false
}

function readStat(pid: number): { parent: number; group: number } {
  // The name in parentheses may hold anything.
  const [, parent, group] = /.*\) \S (\d+) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))!
  return { parent: Number(parent), group: Number(group) }
}
