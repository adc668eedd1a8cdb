/*
 * npm run bench -- k6 NAME|all
 *
 * Starts a deployment, runs a script of k6/ against it and samples all processes during the run. Then audits every
 * ledger that the script made, and writes a report. The exit code is 0 only if every threshold and every audit passes.
 */

import { statfsSync } from 'node:fs'
import { type Database, openDatabase } from '../database.ts'
import { checkGate, inspectDatabase } from '../preflight.ts'
import { printPreflight } from '../print.ts'
import { describeCommit, writeReport } from '../report.ts'
import { onClose, runBench } from '../run-bench.ts'
import { type Deployment, deploy } from '../system.ts'
import { describeK6, installK6 } from './install.ts'
import { parseOptions } from './options.ts'
import { printOutcomes, printReport } from './print.ts'
import { makeReport, reportName } from './report.ts'
import { runRound } from './round.ts'
import { combineRounds, roundsOf, SCENARIOS } from './scenarios.ts'
import type { K6Options, K6Report, RoundResult, ScriptName } from './types.ts'

const log = (line: string) => console.log(line)

async function main(options: K6Options): Promise<boolean> {
  const k6 = await installK6(log)
  const reports: (K6Report | { readonly script: ScriptName; readonly error: string })[] = []
  for (const script of options.scripts) {
    try {
      const report = await runScript(script, options, k6)
      printReport(report)
      log(`  ${writeReport(reportName(report), report, options.outDir)}`)
      reports.push(report)
    } catch (error) {
      // With several scripts, the other scripts still run.
      if (options.scripts.length === 1) throw error
      console.error(`${script}: ${(error as Error).message}`)
      reports.push({ script, error: (error as Error).message })
    }
  }
  await close(sharedTestbed)
  if (reports.length > 1) printOutcomes(reports)
  return reports.every((report) => 'ok' in report && report.ok)
}

async function runScript(script: ScriptName, options: K6Options, k6: string): Promise<K6Report> {
  const startedAt = new Date()
  const scenario = SCENARIOS[script]
  const results: RoundResult[] = []
  let testbed = await openTestbed(options)
  for (const round of roundsOf(scenario, options)) {
    if (results.length > 0 && options.profile === 'full') testbed = await openTestbed(options)
    requireDisk(testbed.database, scenario.diskBytes?.(options) ?? 0)
    results.push(await runRound({ ...testbed, options, k6, log }, script, scenario, round))
    if (options.profile === 'full') await close(testbed)
  }
  return makeReport({
    script,
    options,
    startedAt: startedAt.toISOString(),
    seconds: (Date.now() - startedAt.getTime()) / 1000,
    commit: describeCommit(),
    k6: describeK6(k6),
    ...testbed.about,
    results,
    findings: combineRounds(scenario, results, options),
  })
}

type Testbed = {
  readonly database: Database
  readonly deployment: Deployment
  readonly about: Awaited<ReturnType<typeof inspectDatabase>>
}

const testbeds = new Set<Testbed>()
let sharedTestbed: Testbed | null = null

/**
 * Opens a database. With the profile `full` each round has its own database. With `short`, where rates do not count,
 * all rounds share one database.
 */
async function openTestbed(options: K6Options): Promise<Testbed> {
  if (sharedTestbed !== null) return sharedTestbed
  const { embedded } = options
  const database = await openDatabase({ databaseUrl: process.env['DATABASE_URL'], embedded }, log)
  const about = await inspectDatabase(database)
  const testbed = { database, about, deployment: await deploy(database.ownerUrl) }
  testbeds.add(testbed)
  if (testbeds.size === 1 && !isInspected) printPreflight(about.preflight)
  isInspected = true
  // The profile `short` does not judge rates, so a slow disk is allowed.
  if (options.profile === 'full') checkGate(about.preflight, options.fsyncGateMs, options.force)
  if (options.profile === 'short') sharedTestbed = testbed
  return testbed
}

let isInspected = false

async function close(testbed: Testbed | null): Promise<void> {
  if (testbed === null || !testbeds.delete(testbed)) return
  testbed.deployment.close()
  await testbed.database.close()
}

/** Throws before the run if its data would fill the disk. */
function requireDisk({ walDirectory }: Database, bytes: number): void {
  const { bavail, bsize } = statfsSync(walDirectory)
  const free = bavail * bsize
  if (bytes <= free) return
  const gib = (value: number) => `${(value / 2 ** 30).toFixed(1)} GiB`
  throw new Error(
    `at the target rate this needs ${gib(bytes)}, but ${walDirectory} has ${gib(free)}: shorten the run with --seconds N`,
  )
}

onClose(async () => {
  for (const testbed of [...testbeds]) await close(testbed)
})
await runBench(parseOptions, main)
