import { parse } from 'yaml'
import { z } from 'zod'
import { ENTRY_KINDS, type EntryKind } from '../../src/proof/statement/kinds.ts'
import { readText } from '../../src/verify/read-text.ts'
import { UsageError } from '../run.ts'
import { CONTROL_MAP_BYTES_MAX, CONTROLS_MAX } from './limits.ts'
import type { ReportRow } from './rows.ts'

const text = z.string().min(1).max(500)
const kind = z.enum(Object.keys(ENTRY_KINDS) as [EntryKind, ...EntryKind[]])

const schema = z.strictObject({
  title: text,
  note: text.optional(),
  controls: z
    .array(
      z.strictObject({
        id: text,
        title: text,
        kinds: z.array(kind).min(1).optional(),
        types: z.array(text).min(1).optional(),
        agents: z.array(text).min(1).optional(),
      }),
    )
    .min(1)
    .max(CONTROLS_MAX)
    .refine(
      (controls) => new Set(controls.map(({ id }) => id)).size === controls.length,
      'two controls have the same id',
    ),
})

/** A list of controls. Each control defines which entries are evidence for it. */
export type ControlMap = z.output<typeof schema>
export type Control = ControlMap['controls'][number]

/** Default map, with one control for all entries. */
export const NO_MAP: ControlMap = { title: 'All entries', controls: [{ id: 'all', title: 'All entries' }] }

/** Reads a control map in YAML 1.2. Throws UsageError if the file is not a valid control map. */
export async function readControlMap(path: string): Promise<ControlMap> {
  let value: unknown
  try {
    value = parse(await readText(path, CONTROL_MAP_BYTES_MAX), { maxAliasCount: 0 })
  } catch (error) {
    if (!(error instanceof Error) || !error.name.startsWith('YAML')) throw error
    throw new UsageError(`${path} is not YAML: ${error.message}`)
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UsageError(
    `${path} is not a control map: ${issue!.path.join('.') || 'the whole file'}: ${issue!.message}`,
  )
}

/** Returns the ids of the controls for which the row is evidence. */
export function controlsOf({ controls }: ControlMap, row: ReportRow): string[] {
  return controls.filter((control) => isEvidence(control, row)).map(({ id }) => id)
}

/**
 * Returns whether the row is evidence for the control, which means that the row matches all conditions. A type without
 * a version means all its versions.
 */
export function isEvidence(
  { kinds, types, agents }: Control,
  { kind, type, agent, onBehalfOf }: ReportRow,
): boolean {
  return (
    (kinds === undefined || kinds.some((one) => one === kind)) &&
    (types === undefined ||
      (type !== '' && types.some((one) => one === type || one === type.split('/')[0]))) &&
    (agents === undefined || agents.includes(agent) || agents.includes(onBehalfOf))
  )
}
