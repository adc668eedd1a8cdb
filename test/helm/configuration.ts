import { COMMANDS } from '../../src/command.ts'
import { type Config, parseConfig } from '../../src/config.ts'
import { CLOSE_MS_MAX } from '../../src/run-process.ts'
import type { KubernetesObject } from './render.ts'
import { type Container, podsOf } from './rules.ts'

/** What may stand in a Secret. */
const SECRETS: Readonly<Record<string, string>> = {
  TALLYSTICK_MASTER_KEY: '00'.repeat(32),
  TALLYSTICK_MASTER_KEY_PREVIOUS: '01'.repeat(32),
  TALLYSTICK_OPERATOR_KEY: `tlo_${'a'.repeat(32)}`,
  TALLYSTICK_OPERATOR_KEY_PREVIOUS: `tlo_${'b'.repeat(32)}`,
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
}

/** What each command must be given to begin. */
const NEEDS: Readonly<Record<string, (config: Config) => readonly unknown[]>> = {
  server: ({ apiUrl, masterKey, metricsPort }) => [apiUrl, masterKey, metricsPort],
  worker: ({ workerUrl, masterKey, metricsPort }) => [workerUrl, masterKey, metricsPort],
  migrate: ({ ownerUrl, masterKey }) => [ownerUrl, masterKey],
  operate: ({ ownerUrl }) => [ownerUrl],
  smoke: ({ serverUrl, operatorKey }) => [serverUrl, operatorKey],
}

/** Whether the processes take what the chart gives them: each container's environment is parsed as its process would. */
export function findRefusedConfigurations(objects: readonly KubernetesObject[]): string[] {
  return objects.flatMap(podsOf).flatMap(({ object, spec }) =>
    spec.containers.flatMap((container: Container & { args: string[] }) => {
      const [command = ''] = container.args
      const where = `${object.kind}/${object.metadata.name}`
      if (!Object.hasOwn(COMMANDS, command)) return [`${where}: there is no command ${command}`]
      try {
        const config = parseConfig(environmentOf(container))
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

function environmentOf({ env = [] }: Container): NodeJS.ProcessEnv {
  return Object.fromEntries(
    env.map(({ name, value }) => [name, value ?? SECRETS[name] ?? `no Secret holds ${name}`]),
  )
}
