import { readFileSync } from 'node:fs'

/** Costs of a group of test files: CPU time and wall-clock time, both including child processes. */
export type Cost = { readonly name: string; readonly cpuMs: number; readonly wallMs: number }
/** CPU time of one file within the process of its group, without child processes (load-file.ts). */
export type FileCost = Omit<Cost, 'wallMs'>

/**
 * Maximum factor by which a file or group may exceed its cost in the table. It is 2, because caches and load on the
 * other core change the cost.
 */
const GROWTH_MAX = 2
const FLOOR_MS = 4_000
/**
 * Cost in ms below which a file is not checked. Such a file may be the first of its group, which pays for filling the
 * caches.
 */
const FILE_FLOOR_MS = 2_000

type Line = readonly [pid: number, parent: number, script: string | undefined, cpuMs: number, wallMs: number]

/**
 * Adds up the CPU time of each group. Each process writes a note of its CPU time when it ends (note-cpu.cjs), except
 * processes that are killed or have an environment of their own.
 */
export function readCosts(
  noteFile: string,
  suitePid: number,
  groupOf: (script: string) => string | null,
): Cost[] {
  const lines = readNotes(noteFile).filter((note): note is Line => Array.isArray(note))
  const byPid = new Map(lines.map((line) => [line[0], line]))
  const owner = (line: Line): Line | null => {
    // The test runner is the suite's child. The runner is not a group, although its first argument is a test file too.
    if (line[1] === suitePid) return null
    if (groupOf(line[2] ?? '') !== null) return line
    const parent = byPid.get(line[1])
    return parent === undefined || parent === line ? null : owner(parent)
  }
  const costs = new Map<string, Cost>()
  for (const line of lines) {
    const root = owner(line)
    if (root === null) continue
    const name = groupOf(root[2]!)!
    const { cpuMs = 0, wallMs = 0 } = costs.get(name) ?? {}
    costs.set(name, { name, cpuMs: cpuMs + line[3], wallMs: root === line ? line[4] : wallMs })
  }
  return [...costs.values()].sort((a, b) => b.cpuMs - a.cpuMs)
}

export function readFileCosts(noteFile: string): FileCost[] {
  return readNotes(noteFile).filter((note): note is FileCost => !Array.isArray(note))
}

function readNotes(noteFile: string): (Line | FileCost)[] {
  return readFileSync(noteFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Maps a file to its CPU seconds. The table is test/costs.json. `npm run test:all -- --costs` renews it. */
export type CostTable = Readonly<Record<string, number>>

/** Returns one message for each group with files that have no line in the table. */
export function unknownFiles(
  costs: readonly Cost[],
  filesOf: (group: string) => readonly string[],
  table: CostTable,
): string[] {
  return costs
    .map(({ name }) => filesOf(name).filter((file) => table[file] === undefined))
    .filter((unknown) => unknown.length > 0)
    .map(
      (unknown) => `${unknown.join(', ')} has no line in test/costs.json: npm run test:all -- --costs FILE`,
    )
}

/** Returns one message for each file that exceeds its limit. So no file's cost can grow unnoticed within its group. */
export function fileOverruns(costs: readonly FileCost[], table: CostTable): string[] {
  return costs.flatMap(({ name, cpuMs }) => {
    const maxMs = Math.max(FILE_FLOOR_MS, GROWTH_MAX * 1_000 * (table[name] ?? 0))
    if (cpuMs <= maxMs) return []
    return [
      `${name} took ${seconds(cpuMs)} s of its group's CPU, at most ${seconds(maxMs)} by test/costs.json`,
    ]
  })
}

/** Returns one message for each group that exceeds the sum of its files' limits. */
export function overruns(
  costs: readonly Cost[],
  filesOf: (group: string) => readonly string[],
  table: CostTable,
): string[] {
  return costs.flatMap(({ name, cpuMs }) => {
    const tableMs = filesOf(name).reduce((sum, file) => sum + 1_000 * (table[file] ?? 0), 0)
    const maxMs = Math.max(FLOOR_MS, GROWTH_MAX * tableMs)
    if (cpuMs <= maxMs) return []
    return [`${name} took ${seconds(cpuMs)} s of CPU, at most ${seconds(maxMs)} by test/costs.json`]
  })
}

export function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}
