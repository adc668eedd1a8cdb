import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseOptions } from '../../../bench/k6/options.ts'
import { SCRIPTS } from '../../../bench/k6/scenarios.ts'

test('accepts one script, several scripts, or all', () => {
  assert.deepEqual(parseOptions(['zipfian']).scripts, ['zipfian'])
  assert.deepEqual(parseOptions(['overload', 'replicas']).scripts, ['overload', 'replicas'])
  assert.deepEqual(parseOptions(['all']).scripts, SCRIPTS)
  assert.equal(SCRIPTS.length, 11)
})

test('defaults: a short run, seed 1, the fsync gate, and reports in bench/results', () => {
  assert.deepEqual(parseOptions(['zipfian']), {
    scripts: ['zipfian'],
    profile: 'short',
    peak: null,
    servers: null,
    seconds: null,
    seed: 1,
    outDir: 'bench/results',
    embedded: false,
    fsyncGateMs: 5,
    force: false,
    keep: false,
  })
})

test('parses profile, peak, servers, seconds, seed and out', () => {
  const text = 'notarize-ramp --profile full --peak 5000 --servers 2 --seconds 30 --seed 7 --out o'
  const { profile, peak, servers, seconds, seed, outDir } = parseOptions(text.split(' '))
  assert.deepEqual([profile, peak, servers, seconds, seed, outDir], ['full', 5000, 2, 30, 7, 'o'])
  assert.equal(parseOptions(['notarize-ramp', '--peak', 'max']).peak, 'max')
})

test('refuses unknown options and values out of range, by name', () => {
  const refused: [string, RegExp][] = [
    ['', /name a script/],
    ['nothing-such', /no script nothing-such/],
    ['all zipfian', /no script all/],
    ['zipfian --profile long', /--profile/],
    ['zipfian --peak most', /--peak must be from 1/],
    ['zipfian --servers 0', /--servers must be from 1/],
    ['zipfian --seconds', /--seconds/],
    ['zipfian --seed=', /--seed/],
    ['zipfian --colour', /--colour/],
  ]
  for (const [text, message] of refused)
    assert.throws(() => parseOptions(text.split(' ').filter(Boolean)), message, text)
})
