import type { Database } from '../database.ts'
import type { Side } from '../pair.ts'
import type { Preflight } from '../preflight.ts'
import type { Deployment, System } from '../system.ts'
import type { Audit } from '../watch/audit.ts'
import type { Sampled } from '../watch/samples.ts'
import type { Flatness } from '../watch/trends.ts'
import type { WebhookReceiver } from '../webhook-receiver.ts'
import type { Point } from './series.ts'

export type Profile = 'short' | 'full'

export type K6Options = {
  readonly scripts: readonly ScriptName[]
  readonly profile: Profile
  /**
   * Requests/s at the end of notarize-ramp. With `max`, the runner finds the ceiling. With null, the script uses its
   * default.
   */
  readonly peak: number | 'max' | null
  readonly servers: number | null
  readonly seconds: number | null
  readonly seed: number
  readonly outDir: string
  readonly embedded: boolean
  readonly fsyncGateMs: number
  readonly force: boolean
  /** If true, stores k6's summary and recording beside the report. */
  readonly keep: boolean
}

export type Summary = {
  readonly script: string
  readonly profile: string
  readonly seed: number
  readonly durationMs: number
  readonly ledgers: readonly string[]
  readonly figures: Figures
  readonly extras: Readonly<Record<string, unknown>>
  readonly thresholds: readonly {
    readonly metric: string
    readonly expression: string
    readonly ok: boolean
  }[]
  readonly checks: readonly { readonly name: string; readonly passes: number; readonly fails: number }[]
  readonly metrics: Readonly<Record<string, Readonly<Record<string, number | string>>>>
}

/** One run of k6, with the samples of all processes during it. */
export type K6Run = K6Result & { readonly title: string } & Sampled

export type K6Result = {
  readonly summary: Summary
  /** k6's own aggregates, by k6's clock: one point per second, or one per five seconds. */
  readonly points: readonly Point[]
  readonly warnings: readonly string[]
}

export type RoundDeps = {
  readonly database: Database
  readonly deployment: Deployment
  readonly options: K6Options
  readonly k6: string
  readonly log: (line: string) => void
}

/** A running deployment on which a round runs k6. */
export type Running = RoundDeps & {
  readonly script: ScriptName
  readonly round: Round
  readonly system: System
  readonly receiver: WebhookReceiver | null
  /** The second organisation, or null if the scenario has only one. */
  readonly guest: Side | null
  /** Runs the script once. `env` is added to its environment. */
  runScript(title?: string, env?: Readonly<Record<string, string>>): Promise<K6Run>
}

export type RoundResult = {
  readonly round: Round
  readonly runs: readonly K6Run[]
  readonly audit: Audit
}

type Figures = Readonly<Record<string, number | null>>

/**
 * Runs of a scenario on fresh processes and, in `full`, on a fresh database. All runs of a round are audited
 * together.
 */
export type Round = {
  readonly name: string
  readonly servers: number
  /** Prepares the processes before k6 starts. Returns a function that undoes this at the end. */
  readonly prepare?: (running: Running) => Promise<() => void>
  /** Runs k6. By default, k6 runs once with the settings of the profile. */
  readonly drive?: (running: Running) => Promise<K6Run[]>
}

export type Findings = {
  readonly figures: Figures
  readonly extras?: Readonly<Record<string, unknown>>
  /** Faults other than thresholds and audit, as text. */
  readonly faults?: readonly string[]
}

export type DrivenRound = { readonly round: Round; readonly runs: readonly K6Run[] }

export type Scenario = {
  /** Returns the rounds of the scenario. By default, there is one round with one API process. */
  readonly rounds?: (options: K6Options) => readonly Round[]
  /** Maximum duration of each run in seconds. After this time k6 is killed. */
  readonly secondsMax: Readonly<Record<Profile, number>>
  /** If true, starts a receiver of deliveries as a separate process. The script gets its address in RECEIVER_URL. */
  readonly receiver?: boolean
  /**
   * If true, starts a second server with its own database and keys. The script gets GUEST_URL and GUEST_OPERATOR_KEY.
   */
  readonly guest?: boolean
  /** Returns environment variables of this script, in addition to those of all scripts. */
  readonly env?: (options: K6Options) => Readonly<Record<string, string>>
  /** Returns the number of bytes of disk space that a round may need. Absent if a round needs little. */
  readonly diskBytes?: (options: K6Options) => number
  /** Combines the figures of several rounds or runs. By default, the figures of the last run count. */
  readonly combine?: (rounds: readonly DrivenRound[], options: K6Options) => Findings
}

export type ScriptName =
  | 'notarize-ramp'
  | 'lifecycle-soak'
  | 'batch-sustained'
  | 'dense-producers'
  | 'pipelined-messages'
  | 'mixed-users'
  | 'zipfian'
  | 'overload'
  | 'replicas'
  | 'webhooks-drain'
  | 'federation-drain'

export type Goal = { readonly atLeast?: number; readonly atMost?: number }

export type Published = {
  readonly what: string
  readonly elsewhere: string
  readonly hardware: string
  readonly figures: readonly {
    readonly id: string
    readonly name: string
    readonly unit: string
    readonly published?: number
    /**
     * The figure that `npm run bench` measured. The generator of `npm run bench` needs less CPU than k6
     * (docs/BENCHMARKS.md names machine and day).
     */
    readonly generator?: number
    readonly goal?: Goal
  }[]
}

export type ReportedRun = K6Run & {
  /** CPU time of k6 itself, in µs per request. */
  readonly k6MicrosPerRequest: number
  /** Maps a k6 scenario to the variation of its rate of acknowledged records. */
  readonly flatness: Readonly<Record<string, Flatness>>
}

export type ReportedRound = {
  readonly name: string
  readonly servers: number
  readonly runs: readonly ReportedRun[]
  readonly audit: Audit
}

/** Report of a script for bench/results, with all that is needed to judge its figures. */
export type K6Report = {
  readonly script: ScriptName
  readonly published: Published
  readonly options: K6Options
  readonly startedAt: string
  readonly seconds: number
  readonly commit: string
  readonly node: string
  readonly k6: string
  readonly postgres: string
  readonly postgresSettings: Readonly<Record<string, string>>
  readonly preflight: Preflight
  readonly figures: Figures
  readonly extras: Readonly<Record<string, unknown>>
  readonly rounds: readonly ReportedRound[]
  readonly faults: readonly string[]
  readonly ok: boolean
}
