import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { COMMANDS } from '../../../src/run/command.ts'
import { type Config, parseConfig } from '../../../src/run/config.ts'
import { CLOSE_MS_MAX } from '../../../src/run/run-process.ts'
import type { KubernetesObject } from './render.ts'
import { type Container, podsOf } from './rules.ts'

/** Variables that may come from a Secret, with valid values. */
const SECRETS: Readonly<Record<string, string>> = {
  TALLYSTICK_MASTER_KEY: '00'.repeat(32),
  TALLYSTICK_MASTER_KEY_PREVIOUS: '01'.repeat(32),
  TALLYSTICK_OPERATOR_KEY: `tlo_${'a'.repeat(32)}`,
  TALLYSTICK_OPERATOR_KEY_PREVIOUS: `tlo_${'b'.repeat(32)}`,
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
}

const NEEDS: Readonly<Record<string, (config: Config) => readonly unknown[]>> = {
  server: ({ apiUrl, masterKey, metricsPort }) => [apiUrl, masterKey, metricsPort],
  worker: ({ workerUrl, masterKey, metricsPort }) => [workerUrl, masterKey, metricsPort],
  migrate: ({ ownerUrl, masterKey }) => [ownerUrl, masterKey],
  operate: ({ ownerUrl }) => [ownerUrl],
  smoke: ({ serverUrl, operatorKey }) => [serverUrl, operatorKey],
}

/**
 * Parses each container's environment as the container's process would. Returns the configurations that are refused.
 */
export function findRefusedConfigurations(objects: readonly KubernetesObject[]): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-keys-'))
  try {
    return findRefused(objects, dir)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

function findRefused(objects: readonly KubernetesObject[], dir: string): string[] {
  return objects.flatMap(podsOf).flatMap(({ object, spec }) =>
    spec.containers.flatMap((container: Container & { args: string[] }) => {
      const [command = ''] = container.args
      const where = `${object.kind}/${object.metadata.name}`
      if (!Object.hasOwn(COMMANDS, command)) return [`${where}: there is no command ${command}`]
      try {
        const config = parseConfig(environmentOf(container, spec.volumes, dir))
        const faults = NEEDS[command]!(config).includes(null) ? [`${where}: ${command} lacks a variable`] : []
        const graceMs = spec.terminationGracePeriodSeconds * 1_000
        if (command === 'server' && graceMs < config.drainMs + CLOSE_MS_MAX)
          faults.push(`${where}: is killed before it has ended`)
        return faults
      } catch (error) {
        return [`${where}: ${(error as Error).message}`]
      }
    }),
  )
}

type Volume = {
  readonly name: string
  readonly secret?: { readonly items?: readonly { readonly path: string }[] }
}

/**
 * Returns the environment of a container. API keys and other keys are files of a Secret. A mounted key is read from
 * `dir`.
 */
function environmentOf(
  { env = [], volumeMounts = [] }: Container,
  volumes: readonly Volume[],
  dir: string,
): NodeJS.ProcessEnv {
  const isMounted = (file: string) =>
    volumeMounts.some(({ name, mountPath }) => {
      const items = volumes.find((volume) => volume.name === name)?.secret?.items ?? []
      return items.some(({ path }) => file === `${mountPath}/${path}`)
    })
  return Object.fromEntries(
    env.map(({ name, value }) => {
      const key = SECRETS[name.replace(/_FILE$/, '')]
      if (value === undefined) return [name, key ?? `no Secret holds ${name}`]
      if (key === undefined || !isMounted(value)) return [name, value]
      const file = join(dir, name)
      rmSync(file, { force: true })
      writeFileSync(file, `${key}\n`, { mode: 0o400 })
      return [name, file]
    }),
  )
}
