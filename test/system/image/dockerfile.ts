/** As many instructions as our Dockerfile has, and no more: an unknown one is refused, not passed over. */
type Instruction = { readonly name: string; readonly text: string }

export type Run = {
  readonly command: readonly string[]
  readonly user: string
  readonly env: Record<string, string>
}
export type Copy = { readonly from: string | null; readonly sources: readonly string[]; readonly to: string }

/** Steps of a stage, in order, and how a container of it is then started. */
export type Stage = {
  readonly name: string | null
  /** Another stage, an image, or `scratch`. */
  readonly base: string
  readonly steps: readonly ({ readonly copy: Copy } | { readonly run: Run })[]
  readonly workdir: string
  readonly user: string
  readonly env: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  readonly entrypoint: readonly string[]
}

/** The stages; arguments have their defaults. */
export function parseDockerfile(text: string): Stage[] {
  const instructions = splitInstructions(text)
  const first = instructions.findIndex(({ name }) => name === 'FROM')
  const args = Object.fromEntries(instructions.slice(0, first).map(({ text }) => parsePair(text)))
  const stages: Instruction[][] = []
  for (const instruction of instructions.slice(first)) {
    if (instruction.name === 'FROM') stages.push([])
    stages.at(-1)!.push(instruction)
  }
  return stages.map((stage) => readStage(stage, args))
}

function splitInstructions(text: string): Instruction[] {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
  return lines.map((line) => {
    const [, name, rest] = /^([A-Z]+) +(.*)$/.exec(line) ?? []
    if (name === undefined) throw new Error(`no instruction: ${line}`)
    return { name, text: rest!.trim() }
  })
}

function readStage([from, ...instructions]: Instruction[], args: Record<string, string>): Stage {
  const [, base, name] = /^(\S+)(?: AS (\S+))?$/.exec(expand(from!.text, args))!
  const steps: Stage['steps'][number][] = []
  const env: Record<string, string> = {}
  let [shell, workdir, user] = [['/bin/sh', '-c'], '/', '0:0']
  let labels: Record<string, string> = {}
  let entrypoint: string[] = []
  for (const { name, text } of instructions) {
    if (name === 'SHELL') shell = JSON.parse(text)
    else if (name === 'WORKDIR') workdir = text
    else if (name === 'USER') user = text
    else if (name === 'ENV') Object.assign(env, parsePairs(text))
    else if (name === 'LABEL') labels = { ...labels, ...parsePairs(text) }
    else if (name === 'ENTRYPOINT') entrypoint = JSON.parse(text)
    else if (name === 'COPY') steps.push({ copy: parseCopy(text, workdir) })
    else if (name === 'RUN') {
      const command = text.startsWith('[') ? JSON.parse(text) : [...shell, text]
      steps.push({ run: { command, user, env: { ...env } } })
    } else if (name !== 'ARG' && name !== 'EXPOSE') throw new Error(`${name} is not understood here`)
  }
  return { name: name ?? null, base: base!, steps, workdir, user, env, labels, entrypoint }
}

function parseCopy(text: string, workdir: string): Copy {
  const words = text.split(/\s+/)
  const from = words[0]!.startsWith('--from=') ? words.shift()!.slice('--from='.length) : null
  const flag = words.find((word) => word.startsWith('--'))
  if (flag !== undefined) throw new Error(`COPY ${flag} is not understood here`)
  const to = words.pop()!
  return { from, sources: words, to: to.startsWith('/') ? to : `${workdir}/${to.replace(/^\.\/?/, '')}` }
}

function parsePairs(text: string): Record<string, string> {
  return Object.fromEntries((text.match(/[\w.]+=("[^"]*"|\S*)/g) ?? []).map(parsePair))
}

function parsePair(text: string): [string, string] {
  const [, name, value] = /^([\w.]+)="?(.*?)"?$/.exec(text)!
  return [name!, value!]
}

function expand(text: string, args: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name) => args[name] ?? '')
}
