import type { TestContext } from 'node:test'

/** Maps each verifier to the features of the runtime that uses it. */
export const RUNTIMES = {
  'with node:crypto': {},
  'with WebCrypto': { node: false },
  'with neither': { node: false, web: false },
} as const

type Runtime = { readonly node?: boolean; readonly web?: boolean }

const { getBuiltinModule } = process
const { crypto } = globalThis

/** Hides the features that the given runtime lacks, until the test ends. */
export function pretend(t: TestContext, { node = true, web = true }: Runtime): void {
  t.after(() => {
    process.getBuiltinModule = getBuiltinModule
    define(crypto)
  })
  if (!node) process.getBuiltinModule = undefined as unknown as typeof getBuiltinModule
  if (!web) define({ getRandomValues: crypto.getRandomValues.bind(crypto) })
}

function define(value: unknown): void {
  Object.defineProperty(globalThis, 'crypto', { value, configurable: true, writable: true })
}
