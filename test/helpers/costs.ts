import { readFileSync } from 'node:fs'

/** Cost of a group in a run, its child processes included. Times in milliseconds. */
export type Cost = { readonly name: string; readonly cpuMs: number; readonly wallMs: number }
/** Cost of a file in its group: the work of the group's own process for it (load-file.ts). */
export type FileCost = Omit<Cost, 'wallMs'>

/** A file may cost this much more than its line in the table: twice, because caches and the neighbours of a core matter. */
const GROWTH_MAX = 2
/** Below this a group is not looked at. */
const FLOOR_MS = 4_000
/** Below this a file of a group is not, because it may be the one that warms up what all of them use. */
const FILE_FLOOR_MS = 2_000

type Line = readonly [pid: number, parent: number, script: string | undefined, cpuMs: number, wallMs: number]

/**
 * Adds up what the processes of a run have noted (note-cpu.cjs), by the group that started them. A process that is killed, or
 * that has an environment of its own, notes nothing.
 */
export function readCosts(
  noteFile: string,
  suitePid: number,
  groupOf: (script: string) => string | null,
): Cost[] {
  const lines = readNotes(noteFile).filter((note): note is Line => Array.isArray(note))
  const byPid = new Map(lines.map((line) => [line[0], line]))
  const owner = (line: Line): Line | null => {
    // The child of the suite is the test runner, whose first argument is a test file too.
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

/** Costs of the files that shared a process. */
export function readFileCosts(noteFile: string): FileCost[] {
  return readNotes(noteFile).filter((note): note is FileCost => !Array.isArray(note))
}

function readNotes(noteFile: string): (Line | FileCost)[] {
  return readFileSync(noteFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** The table of CPU seconds by file, test/costs.json; renewed by `npm run test:all -- --costs`. */
export type CostTable = Readonly<Record<string, number>>

/** Faults: files of the table's groups without a line in it. */
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

/** Tells which files cost their group more than they may, so that none grows unseen among its neighbours. */
export function fileOverruns(costs: readonly FileCost[], table: CostTable): string[] {
  return costs.flatMap(({ name, cpuMs }) => {
    const maxMs = Math.max(FILE_FLOOR_MS, GROWTH_MAX * 1_000 * (table[name] ?? 0))
    if (cpuMs <= maxMs) return []
    return [
      `${name} took ${seconds(cpuMs)} s of its group's CPU, at most ${seconds(maxMs)} by test/costs.json`,
    ]
  })
}

/** Tells which groups cost more than their files may. */
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
