import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parse } from 'yaml'
import { ROOT } from '../../../tools/bundle.ts'

export type Part = {
  readonly command: string
  readonly env: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
}

export type Service = {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly networks: readonly string[]
  readonly ports?: readonly string[]
}
export type Compose = {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
  readonly volumes: object
  readonly networks: object
}

export function readCompose(): Compose {
  return parse(readFileSync(join(ROOT, 'deploy', 'compose.yaml'), 'utf8'), { merge: true }) as Compose
}

/**
 * Returns the process of a Compose service. `values` are the variables that the Compose file takes from its
 * environment. Throws if a variable is missing.
 */
export function partOfService(service: Service, values: Readonly<Record<string, string>>): Part {
  const interpolate = (text: string) =>
    text.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_all, name: string) => {
      const value = values[name]
      if (value === undefined) throw new Error(`${name} has no value`)
      return value
    })
  return {
    command: service.command![0]!,
    env: Object.fromEntries(
      Object.entries(service.environment).map(([name, value]) => [name, interpolate(value)]),
    ),
    secrets: service.secrets.map((name) => `/run/secrets/${name}`),
  }
}

export const UNITS = ['migrate', 'server', 'worker'].map((name) =>
  join(ROOT, 'deploy', 'systemd', `tallystick-${name}.service`),
)

/**
 * Returns the process of a systemd unit, with the variables of its environment file. In directives, %d is the folder
 * of credentials and %S the folder of state.
 */
export function partOfUnit(file: string): Part {
  const lines = readFileSync(file, 'utf8').split('\n')
  const valuesOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1))
  const [start] = valuesOf('ExecStart')
  const [, command] = / src\/run\/command\.ts (\w+)$/.exec(start!)!
  const [shared] = valuesOf('EnvironmentFile')
  const text = readFileSync(join(ROOT, 'deploy', 'systemd', basename(shared!)), 'utf8')
  const assignments = [...text.split('\n'), ...valuesOf('Environment')].filter((line) => /^\w+=/.test(line))
  return {
    command: command!,
    env: Object.fromEntries(assignments.map((line) => line.split(/=(.*)/s).slice(0, 2))),
    secrets: valuesOf('LoadCredential').map((line) => `%d/${line.split(':')[0]}`),
  }
}
