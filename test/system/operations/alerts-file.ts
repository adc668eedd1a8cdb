import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { headingId } from '../../../tools/site/heading-id.ts'

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

/**
 * Returns a section of a runbook, such as worker.md#jobs-were-given-up, or null if the section does not exist. The
 * section ends before the next heading of the same level.
 */
export function runbookSection(runbook: string): { readonly title: string; readonly text: string } | null {
  const [, page, anchor] = /^([a-z-]+\.md)#([a-z-]+)$/.exec(runbook) ?? []
  if (page === undefined || !existsSync(join(RUNBOOKS_DIR, page))) return null
  const sections = readFileSync(join(RUNBOOKS_DIR, page), 'utf8').split(/^## /m).slice(1)
  for (const section of sections) {
    const [title, ...lines] = section.split('\n')
    if (headingId(title!) === anchor) return { title: title!, text: lines.join('\n') }
  }
  return null
}
