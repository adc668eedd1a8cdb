import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPythonTool } from '../../../tools/python-tool.ts'
import { execute } from './command.ts'
import type { Rendering } from './render.ts'

export function installValidator(): string {
  return installPythonTool('kubernetes-validate', join(import.meta.dirname, 'requirements.txt'))
}

/** Validates objects against Kubernetes' own schemas, which refuse unknown fields. crds.ts validates other kinds. */
export async function findUnknownFields(
  validator: string,
  renderings: readonly Rendering[],
): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-chart-'))
  try {
    const faults: string[] = []
    for (const [version, group] of Map.groupBy(renderings, (rendering) => rendering.kubernetesVersion)) {
      const files = writeOnce(dir, group)
      const args = ['--strict', '--quiet', '--no-warn', '--kubernetes-version', version, ...files]
      const { code, stdout, stderr } = await execute(validator, args)
      if (code === 0) continue
      faults.push(`Kubernetes ${version}: ${`${stdout}${stderr}`.replaceAll(`${dir}/`, '').trim()}`)
    }
    return faults
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/**
 * Writes each object once, in the file of the first rendering that has the object. Most objects are the same in all
 * renderings, and validating an object takes 20 ms.
 */
function writeOnce(dir: string, renderings: readonly Rendering[]): string[] {
  const seen = new Set<string>()
  return renderings.flatMap(({ helm, name, objects }) => {
    const texts = objects.map((object) => JSON.stringify(object)).filter((text) => !seen.has(text))
    if (texts.length === 0) return []
    for (const text of texts) seen.add(text)
    const file = join(dir, `${helm} ${name}.yaml`)
    writeFileSync(file, texts.join('\n---\n'))
    return [file]
  })
}
