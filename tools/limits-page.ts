import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

type Limit = { readonly name: string; readonly value: unknown; readonly says: string }

/** docs/limits.md: every limit of the server, the worker and the CLI, by the part that it bounds. */
export async function limitsPage(): Promise<string> {
  const files = globSync('{src,cli,console}/**/limits.ts', { cwd: ROOT }).sort()
  const sections = await Promise.all(files.map(async (file) => section(file, await readLimits(file))))
  return [
    'Look up any limit of the server, the worker and the command line here.',
    'Limits are constants: changing one means building your own image. The limits that clients meet are explained in',
    '[api.md](api.md#limits), those of types in [types.md](types.md), those of webhooks in [webhooks.md](webhooks.md).\n',
    ...sections,
  ].join('\n')
}

async function readLimits(file: string): Promise<Limit[]> {
  const values: Readonly<Record<string, unknown>> = await import(join(ROOT, file))
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?export const (\w+)/g)].map(
    ([, comment = '', name]) => ({ name: name!, value: values[name!], says: plain(comment) }),
  )
}

function section(file: string, limits: readonly Limit[]): string {
  const rows = limits.map(({ name, value, says }) => `| \`${name}\` | ${shown(name, value)} | ${says} |`)
  return [`## ${dirname(file)}\n`, '| Limit | Value | |', '|---|---|---|', ...rows, ''].join('\n')
}

function plain(comment: string): string {
  return comment
    .replace(/\n\s*\*/g, ' ')
    .replace(/\s+/g, ' ')
    .replaceAll('|', '\\|')
    .trim()
}

/** The value in the unit that the name says, and in a larger one if it has one. */
function shown(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((each) => shown(name, each)).join(', ')
  if (typeof value !== 'number') return `\`${value}\``
  const figure = value.toLocaleString('en', { maximumFractionDigits: 3 })
  if (/BYTES/.test(name) && !/PER_BYTE/.test(name)) return inLarger(value, figure, BYTE_UNITS)
  return /_MS(_|$)/.test(name) ? inLarger(value, figure, TIME_UNITS) : figure
}

const BYTE_UNITS = [
  [1024 ** 4, 'TiB'],
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
] as const
const TIME_UNITS = [
  [86_400_000, 'days'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

function inLarger(value: number, figure: string, units: readonly (readonly [number, string])[]): string {
  const unit = units.find(([size]) => value >= size && value % size === 0)
  return unit ? `${(value / unit[0]).toLocaleString('en')} ${unit[1]}` : figure
}
