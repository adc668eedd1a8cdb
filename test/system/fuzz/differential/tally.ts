import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Case } from './cases.ts'
import type { Verdict } from './typescript.ts'

/** Maximum number of differences of each kind that are printed and written. Further differences are only counted. */
const SHOWN_MAX = 2
/**
 * Limits above which a case counts as slow. Its CPU time must be at least SLOW_FACTOR times the median of the cases
 * with the same kind and size, and at least SLOW_CPU_MS.
 */
const SLOW_FACTOR = 20
const SLOW_CPU_MS = 400
const TIMES_MAX = 1_000

type Counts = { cases: number; ok: number; readonly codes: Map<string, number>; found: number }
type Side = 'TypeScript' | 'Python'

export class Tally {
  findings = 0
  cases = 0
  unmade = 0
  readonly #seed: number
  readonly #directory: string
  readonly #counts = new Map<string, Counts>()
  readonly #alike = new Map<string, number>()
  readonly #times = new Map<string, number[]>()
  readonly #startedMs = Date.now()
  #last: readonly [Case, Verdict, Verdict] | null = null
  #slowest: Readonly<Record<Side, number>> = { TypeScript: 0, Python: 0 }

  constructor(seed: number, directory: string) {
    this.#seed = seed
    this.#directory = directory
  }

  add(index: number, given: Case, own: Verdict, theirs: Verdict): void {
    this.#last = [given, own, theirs]
    const counts = this.#counts.get(given.kind) ?? { cases: 0, ok: 0, codes: new Map(), found: 0 }
    this.#counts.set(given.kind, counts)
    counts.cases++
    this.cases++
    if (own.outcome === 'ok') counts.ok++
    else counts.codes.set(own.code || own.outcome, (counts.codes.get(own.code || own.outcome) ?? 0) + 1)
    for (const finding of [differenceOf(own, theirs), this.#slownessOf(given, own, theirs)]) {
      if (finding === null) continue
      counts.found++
      this.#report(index, given, finding)
    }
  }

  #slownessOf(given: Case, own: Verdict, theirs: Verdict): string | null {
    const bytes = given.parts.reduce((sum, { length }) => sum + length, 0)
    const found: string[] = []
    for (const [side, { cpuMs }] of [
      ['TypeScript', own],
      ['Python', theirs],
    ] as const) {
      const name = `${side} ${given.kind} ${Math.ceil(Math.log2(bytes + 1))}`
      const times = this.#times.get(name) ?? []
      this.#times.set(name, times)
      if (times.length < TIMES_MAX) times.push(cpuMs)
      this.#slowest = { ...this.#slowest, [side]: Math.max(this.#slowest[side], cpuMs) }
      if (cpuMs <= SLOW_CPU_MS) continue
      const median = times.toSorted((a, b) => a - b)[times.length >> 1]!
      // If no other case has this size, there is no median to compare with, and the case counts as slow.
      if (times.length === 1 || cpuMs > SLOW_FACTOR * median)
        found.push(`slow: ${side} ${cpuMs.toFixed(0)} ms for ${bytes} bytes`)
    }
    return found.length > 0 ? found.join(', ') : null
  }

  #report(index: number, given: Case, finding: string): void {
    this.findings++
    // The text is stripped of numbers and reports, so that similar findings are grouped.
    const alike = `${given.kind}: ${finding.replaceAll(/\{.*?\}(?= \||$)/g, '').replaceAll(/[0-9]+/g, 'N')}`
    const before = this.#alike.get(alike) ?? 0
    this.#alike.set(alike, before + 1)
    if (before >= SHOWN_MAX) return
    const path = join(this.#directory, `${index}`)
    for (const [i, part] of given.parts.entries()) writeFileSync(`${path}.${i}`, part)
    writeFileSync(`${path}.trust`, JSON.stringify(given.trust))
    console.log(
      `\n${given.kind}, --seed ${this.#seed} --case ${index} (${path}.*)\n  ${given.how}\n  ${finding}`,
    )
  }

  show(): void {
    if (this.#last === null) return
    const [given, own, theirs] = this.#last
    console.log(given.kind, given.how, given.trust)
    for (const part of given.parts) console.log(Buffer.from(part).toString(isText(part) ? 'utf8' : 'hex'))
    console.log('TypeScript', own, '\nPython', theirs)
  }

  print(): void {
    const seconds = (Date.now() - this.#startedMs) / 1_000
    let all = 0
    console.log('\nkind                    cases     taken  codes  differences')
    for (const [kind, { cases, ok, codes, found }] of [...this.#counts].toSorted(([a], [b]) =>
      a < b ? -1 : 1,
    )) {
      all += cases
      console.log(
        `${kind.padEnd(20)}${`${cases}`.padStart(9)}${`${ok}`.padStart(10)}${`${codes.size}`.padStart(7)}${`${found}`.padStart(13)}`,
      )
      const shown = [...codes]
        .toSorted(([, a], [, b]) => b - a)
        .map(([code, count]) => `${code.split('\n')[0]} ${count}`)
      console.log(`    ${shown.join(', ')}`)
    }
    for (const [alike, count] of [...this.#alike].toSorted(([, a], [, b]) => b - a))
      console.log(`${`${count}`.padStart(6)} × ${alike.replaceAll('\n', ' ').slice(0, 200)}`)
    const { TypeScript, Python } = this.#slowest
    console.log(`slowest case: TypeScript ${TypeScript.toFixed(0)} ms, Python ${Python.toFixed(0)} ms`)
    console.log(
      `seed ${this.#seed}: ${all} cases in ${seconds.toFixed(0)} s (${(all / seconds).toFixed(0)}/s), ${this.findings} differences, ${this.unmade} not made`,
    )
  }
}

const isText = (part: Uint8Array): boolean =>
  /^[\x20-\x7e\n\u00a0-\uffff]*$/.test(Buffer.from(part).toString('utf8'))

/** Returns a description of the difference, or null if the two verdicts agree. */
export function differenceOf(own: Verdict, theirs: Verdict): string | null {
  const isSame =
    own.outcome !== 'crash' &&
    own.outcome === theirs.outcome &&
    own.code === theirs.code &&
    // The two positions are compared only if both verifiers report a position. Some readers report none.
    (own.seq === null || theirs.seq === null || own.seq === theirs.seq) &&
    isDeepStrictEqual(own.facts, theirs.facts)
  return isSame ? null : `TypeScript ${shown(own)} | Python ${shown(theirs)}`
}

const shown = ({ outcome, code, seq, facts }: Verdict): string =>
  [outcome, code, seq === null ? '' : `seq ${seq}`, facts === null ? '' : JSON.stringify(facts).slice(0, 300)]
    .filter((part) => part !== '')
    .join(' ')
