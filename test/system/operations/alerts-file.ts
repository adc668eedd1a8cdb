import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'

const PROJECT_DIR = resolve(import.meta.dirname, '../../..')
export const ALERTS_FILE = join(PROJECT_DIR, 'helm/tallystick/files/alerts.yaml')
export const RUNBOOKS_DIR = join(PROJECT_DIR, 'docs/runbooks')

export type Rule = {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}
export type Alert = Rule & Required<Pick<Rule, 'alert' | 'labels' | 'annotations'>>

export function readRules(): Rule[] {
  const { groups } = parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: { rules: Rule[] }[] }
  return groups.flatMap(({ rules }) => rules)
}

export function readAlerts(): Alert[] {
  return readRules().filter((rule): rule is Alert => rule.alert !== undefined)
}

/** TallystickNoWorker → no-worker.md */
export function pageOf(alert: string): string {
  const words = alert.replace(/^Tallystick/, '').match(/[A-Z][a-z]*/g) ?? []
  return `${words.join('-').toLowerCase()}.md`
}
