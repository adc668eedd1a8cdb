import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * What each part may import of this project; a part may always import itself. The first matching prefix counts.
 * docs/ARCHITECTURE.md draws it.
 */
const SHARED = ['src/limits.ts', 'src/peer-limits.ts', 'src/webhook-limits.ts', 'src/turn.ts', 'src/proof/']
const RULES: [part: string, mayImport: string[]][] = [
  ['sdk/', ['src/proof/', 'src/signing/node-crypto.ts', 'src/signing/portable.ts']],
  ['src/proof/', []],
  ['src/signing/', SHARED],
  ['src/db/', [...SHARED, 'src/jobs/', 'src/signing/']],
  ['src/jobs/', SHARED],
  ['src/append/', [...SHARED, 'src/db/', 'src/signing/', 'src/errors.ts']],
  [
    'src/tenancy/',
    [
      ...SHARED,
      'src/append/',
      'src/db/',
      'src/types/built-in.ts',
      'src/signing/',
      'src/entropy.ts',
      'src/errors.ts',
    ],
  ],
  ['src/types/', [...SHARED, 'src/db/', 'src/signing/', 'src/tenancy/', 'src/errors.ts']],
  [
    'src/records/',
    [
      ...SHARED,
      'src/append/',
      'src/db/',
      'src/signing/',
      'src/tenancy/',
      'src/types/',
      'src/entropy.ts',
      'src/errors.ts',
    ],
  ],
  [
    'src/federation/',
    [
      ...SHARED,
      'src/append/',
      'src/db/',
      'src/jobs/',
      'src/outbound/',
      'src/records/',
      'src/signing/',
      'src/tenancy/',
      'src/threads/',
      'src/types/',
      'src/byte-budget.ts',
      'src/entropy.ts',
      'src/errors.ts',
    ],
  ],
  ['src/proofs/', [...SHARED, 'src/db/', 'src/records/', 'src/signing/', 'src/errors.ts']],
  [
    'src/rotation/',
    [
      ...SHARED,
      'src/append/',
      'src/checkpoints/',
      'src/db/',
      'src/signing/',
      'src/tenancy/',
      'src/webhooks/',
    ],
  ],
  ['src/checkpoints/', [...SHARED, 'src/db/', 'src/signing/']],
  ['src/erasure/', [...SHARED, 'src/db/', 'src/follow/', 'src/signing/']],
  [
    'src/audit/',
    [...SHARED, 'src/checkpoints/', 'src/db/', 'src/jobs/', 'src/signing/', 'src/verify/', 'src/entropy.ts'],
  ],
  [
    'src/verification/',
    [
      ...SHARED,
      'src/append/',
      'src/db/',
      'src/erasure/',
      'src/jobs/',
      'src/records/',
      'src/signing/',
      'src/types/',
      'src/entropy.ts',
    ],
  ],
  ['src/expiry/', [...SHARED, 'src/append/', 'src/db/', 'src/follow/', 'src/signing/', 'src/verification/']],
  ['src/follow/', ['src/limits.ts']],
  ['src/threads/', SHARED],
  ['src/events/', [...SHARED, 'src/db/', 'src/signing/', 'src/errors.ts']],
  ['src/outbound/', ['src/limits.ts']],
  [
    'src/webhooks/',
    [
      ...SHARED,
      'src/checkpoints/',
      'src/db/',
      'src/events/',
      'src/jobs/',
      'src/outbound/',
      'src/records/',
      'src/signing/',
      'src/tenancy/',
      'src/entropy.ts',
      'src/errors.ts',
    ],
  ],
  [
    'src/metrics/',
    [
      'src/append/',
      'src/audit/',
      'src/checkpoints/',
      'src/db/',
      'src/federation/',
      'src/follow/',
      'src/jobs/',
      'src/outbound/',
      'src/verification/',
      'src/webhooks/',
      'src/tracing/',
      'src/admission.ts',
      'src/byte-budget.ts',
      'src/config.ts',
      'src/errors.ts',
      'src/limits.ts',
      'src/peer-limits.ts',
      'src/webhook-limits.ts',
      'src/run-process.ts',
    ],
  ],
  [
    'src/tracing/',
    [
      ...SHARED,
      'src/append/',
      'src/db/',
      'src/federation/',
      'src/follow/',
      'src/verification/',
      'src/webhooks/',
      'src/config.ts',
    ],
  ],
  ['src/postgres/', ['src/db/', 'src/limits.ts']],
  ['src/verify/', [...SHARED, 'src/db/', 'src/records/', 'src/signing/']],
  ['src/preflight/', ['src/db/', 'src/limits.ts']],
  ['src/local/', ['src/tenancy/']],
  [
    'src/http/',
    [
      ...SHARED,
      'src/proofs/',
      'src/records/',
      'src/tenancy/',
      'src/types/',
      'src/webhooks/',
      'src/db/',
      'src/events/',
      'src/federation/',
      'src/metrics/',
      'src/config.ts',
      'src/deps.ts',
      'src/entropy.ts',
      'src/errors.ts',
      'src/log.ts',
      'src/signing/',
      'src/threads/',
      'src/tracing/',
      'src/admission.ts',
      'src/write-deadlines.ts',
      'src/byte-budget.ts',
    ],
  ],
  ['worker/', ['src/']],
  ['demo/', ['src/proof/']],
  [
    'cli/',
    [
      'sdk/',
      'src/preflight/',
      'src/proof/',
      'src/signing/',
      'src/verify/',
      'src/db/',
      'src/config.ts',
      'src/limits.ts',
    ],
  ],
]

test('every import goes in the direction that the architecture draws', () => {
  const faults: string[] = []
  for (const [file, imported] of importsOf(['sdk', 'src', 'worker', 'cli', 'demo'])) {
    const rule = RULES.find(([part]) => file.startsWith(part))
    if (!rule) {
      // Files directly in src put the parts together; a folder without a rule could import anything.
      if (dirname(file) !== 'src') faults.push(`${file} is in a folder that has no rule`)
      continue
    }
    const [part, mayImport] = rule
    if (!imported.startsWith(part) && !mayImport.some((prefix) => imported.startsWith(prefix))) {
      faults.push(`${file} imports ${imported}`)
    }
  }
  assert.deepEqual(faults, [])
})

test('the examples are whoever copies them: they import the SDK by its name, and nothing else of this project', () => {
  const faults = importsOf(['examples'])
    .filter(([, imported]) => !imported.startsWith('examples/'))
    .map(([file, imported]) => `${file} imports ${imported}`)
  assert.deepEqual(faults, [])
})

test('nothing imports http but the application, and nothing imports worker but the processes', () => {
  const allowed = new Set(['src/app.ts', 'src/all-in-one.ts', 'src/command.ts'])
  const faults = importsOf(['src', 'worker', 'cli', 'bench'])
    .filter(([file, imported]) => {
      const inside = file.startsWith('src/http/') || file.startsWith('worker/') || file.startsWith('bench/')
      return /^(src\/http|worker)\//.test(imported) && !inside && !allowed.has(file)
    })
    .map(([file, imported]) => `${file} imports ${imported}`)
  assert.deepEqual(faults, [])
})

test('src/proof is pure: it imports itself and cborg, nothing of Node', () => {
  const faults = sourcesIn('src/proof').flatMap((file) =>
    specifiersOf(file)
      .filter((specifier) => !specifier.startsWith('./') && specifier !== 'cborg')
      .map((specifier) => `${file} imports ${specifier}`),
  )
  assert.deepEqual(faults, [])
})

test('SQL is in src/db only, and the environment is read where processes begin', () => {
  const faults: string[] = []
  for (const file of ['src', 'worker'].flatMap(sourcesIn)) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    if (
      !file.startsWith('src/db/') &&
      !file.startsWith('src/postgres/') &&
      /\btallystick\.[a-z_]+\b(?!\.dev)/.test(sqlOf(text))
    ) {
      faults.push(`${file} holds SQL`)
    }
    if (/process\.env/.test(text) && !PROCESSES.has(file)) faults.push(`${file} reads the environment`)
  }
  assert.deepEqual(faults, [])
})

/** `parseConfig(process.env)` stands in these, and spawning children with an environment in `src/postgres`. */
const PROCESSES = new Set([
  'src/server.ts',
  'src/migrate.ts',
  'src/operate.ts',
  'src/rds-token.ts',
  'src/rotate-key.ts',
  'src/rotate-master-key.ts',
  'src/restore-check.ts',
  'src/smoke.ts',
  'src/all-in-one.ts',
  'worker/worker.ts',
  'src/postgres/run-as.ts',
  'src/postgres/postmaster.ts',
])

function sqlOf(text: string): string {
  return (
    text.match(/(select|insert into|update|delete from)\s[\s\S]{0,200}?tallystick\.[a-z_]+/gi) ?? []
  ).join('\n')
}

function importsOf(dirs: string[]): [file: string, imported: string][] {
  return dirs.flatMap(sourcesIn).flatMap((file) =>
    specifiersOf(file)
      .filter((specifier) => specifier.startsWith('.'))
      .map((specifier): [string, string] => [file, relative(ROOT, resolve(ROOT, dirname(file), specifier))]),
  )
}

function specifiersOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [
    ...text.matchAll(
      /^(?:import|export)\s[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    ),
  ].map((match) => (match[1] ?? match[2] ?? match[3])!)
}

function sourcesIn(dir: string): string[] {
  return readdirSync(join(ROOT, dir), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(dir, name))
    .sort()
}
