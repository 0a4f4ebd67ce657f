#!/usr/bin/env python3
"""Writes src/decode/opcodes/*.inc: every gfx906 opcode with its mnemonic and operand widths.

Each opcode number of each encoding is handed to LLVM's disassembler with telling register numbers in its fields;
what it prints says which fields the instruction has and how wide they are.
Usage: gen_opcodes.py "<llvm-mc command>" src/decode/opcodes
"""
import re
import shlex
import subprocess
import sys

MC = shlex.split(sys.argv[1]) + ["--disassemble", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx906", "-show-encoding"]
V = 0x100
# Formats: name -> (number of opcodes, function(op) -> candidate encodings, tried in order)
LITERAL_VOP2 = (23, 24, 36, 37)


def vop3(op):
    for sd in (0, 50):
        for s2 in (V + 40, 44, 0):
            for s1 in (V + 30, 30, 0):
                for s0 in (V + 20, 0):
                    for dst in (10, 0):
                        yield [0xD0000000 | op << 16 | sd << 8 | dst, s0 | s1 << 9 | s2 << 18]


def vop3p(op):
    for hi2 in (1, 0):
        for hi in (3, 0):
            for s2 in (V + 40, 0):
                yield [0xD3800000 | op << 16 | 10 | hi2 << 14, (V + 20) | (V + 30) << 9 | s2 << 18 | hi << 27]


def ds(op):
    for d1 in (40, 0):
        for d0 in (30, 0):
            for dst in (10, 0):
                for addr in (20, 0):
                    for off in (2 << 8 | 1, 1, 0):
                        for gds in (0, 1):
                            yield [0xD8000000 | op << 17 | gds << 16 | off, addr | d0 << 8 | d1 << 16 | dst << 24]


def flat(seg):
    def gen(op):
        for glc in (1, 0):
            for dst in (10, 0):
                for data in (30, 0):
                    for saddr in (0x7F, 0):
                        yield [0xDC000000 | op << 18 | seg << 14 | glc << 16 | 4,
                               20 | data << 8 | saddr << 16 | dst << 24]
    return gen


def mubuf(op):
    for w1 in (20 | 10 << 8 | 3 << 16 | 6 << 24, 0):
        for w0 in (1 << 12 | 4, 0):
            yield [0xE0000000 | op << 18 | w0, w1]


def smem(op):
    for data in (20, 0):
        for base in (5, 6, 0):
            for imm, off in ((1, 0x40), (0, 0)):
                yield [0xC0000000 | op << 18 | imm << 17 | data << 6 | base, off]


def sop1(op):
    for d in (10, 0):
        for s in (20, 0):
            yield [0xBE800000 | d << 16 | op << 8 | s]


def one(f):
    return lambda op: [f(op)]


def vop2(op):
    lit = [0x11223344] if op in LITERAL_VOP2 else []
    return [[op << 25 | 10 << 17 | 30 << 9 | (V + 20)] + lit]


def vop1(op):
    for d in (10, 0):
        for s in (V + 20, 0):
            yield [0x7E000000 | d << 17 | op << 9 | s]


FORMATS = {
    "SOP2": (0x60, one(lambda op: [0x80000000 | op << 23 | 10 << 16 | 30 << 8 | 20])),
    "SOPK": (32, lambda op: [[0xB0000000 | op << 23 | 10 << 16 | 0x1234] + ([0x11223344] if op == 20 else []),
                             [0xB0000000 | op << 23 | 10 << 16 | 0xF801] + ([0x11223344] if op == 20 else [])]),
    "SOP1": (256, sop1),
    "SOPC": (128, one(lambda op: [0xBF000000 | op << 16 | 30 << 8 | 20])),
    "SOPP": (128, lambda op: [[0xBF800000 | op << 16 | 5], [0xBF800000 | op << 16]]),
    "SMEM": (256, smem),
    "VOP2": (62, vop2),
    "VOP1": (256, vop1),
    "VOPC": (256, one(lambda op: [0x7C000000 | op << 17 | 30 << 9 | (V + 20)])),
    "VOP3": (1024, vop3),
    "VOP3P": (128, vop3p),
    "DS": (256, ds),
    "MUBUF": (128, mubuf),
    "MTBUF": (16, one(lambda op: [0xE8000000 | op << 15 | 1 << 12 | 4 | 4 << 19 | 7 << 23,
                                  20 | 10 << 8 | 3 << 16 | 6 << 24])),
    "FLAT": (128, flat(0)),
    "SCRATCH": (128, flat(1)),
    "GLOBAL": (128, flat(2)),
}


def key(words):
    return tuple(b for w in words for b in w.to_bytes(4, "little"))


def disassemble(encodings):
    text = "\n".join(" ".join("0x%02x" % b for b in key(e)) for e in encodings) + "\n"
    out = subprocess.run(MC, input=text, capture_output=True, text=True).stdout
    found = {}
    for line in out.splitlines():
        m = re.match(r"\s*(\S.*?)\s*(?:;|//) encoding: \[(.*)\]", line)
        if m and "Invalid" not in line:
            found[tuple(int(x, 16) for x in m.group(2).split(","))] = m.group(1)
    return found


def operands(text):
    """Register operands in order: (class, first, width)."""
    out = []
    for m in re.finditer(r"(?<![\w.])(?:([vs])(\d+)|([vs])\[(\d+):(\d+)\]|(vcc)|(off))(?![\w])", text):
        if m.group(1):
            out.append((m.group(1), int(m.group(2)), 1))
        elif m.group(3):
            out.append((m.group(3), int(m.group(4)), int(m.group(5)) - int(m.group(4)) + 1))
        elif m.group(6):
            out.append(("vcc", 106, 2))
    return out


def row(fmt, op, text):
    name = text.split()[0]
    rest = text[len(name):]
    ops = operands(rest)
    width = {"dst": 0, "s0": 0, "s1": 0, "s2": 0}
    flags = []
    if fmt in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3P"):
        first = True
        for cls, num, w in ops:
            if first:
                width["dst"] = w
                if cls == "s":
                    flags.append("kDstSgpr")
                if cls == "vcc":
                    flags.append("kDstSgpr")
                first = False
            elif cls == "vcc" or (cls == "s" and num in (0, 50)):
                flags.append("kVccIn" if width["s0"] else "kCarryOut")
            elif num == 20:
                width["s0"] = w
            elif num == 30:
                width["s1"] = w
            elif num in (40, 44):
                width["s2"] = w
                if cls == "s":
                    flags.append("kVccIn")
        if name.startswith("v_writelane"):
            width["s0"], flags = 1, []
    elif fmt in ("SOP1", "SOP2", "SOPC", "SOPK"):
        for cls, num, w in ops:
            width[{10: "dst", 20: "s0", 30: "s1"}.get(num, "dst")] = w
    elif fmt == "SMEM":
        for cls, num, w in ops:
            width["dst" if num == 20 else "s0"] = w
    elif fmt == "DS":
        for cls, num, w in ops:
            width[{10: "dst", 20: "s0", 30: "s1", 40: "s2"}[num]] = w
        if "offset1" in rest:
            flags.append("kTwoOffsets")
        elif "offset" not in rest:
            flags.append("kNoOffset")
        if " gds" in rest:
            flags.append("kGdsOnly")
    elif fmt in ("MUBUF", "MTBUF"):
        for cls, num, w in ops:
            if cls == "v" and num == 10:
                width["dst"] = w
            elif cls == "v":
                width["s0"] = w
            elif num == 12:
                width["s1"] = w
    else:
        for cls, num, w in ops:
            if cls == "v":
                width[{10: "dst", 20: "s0", 30: "s1"}[num]] = w
    base = re.sub(r"_(e32|e64)$", "", name)
    fl = " | ".join(dict.fromkeys(flags)) or "0"
    return base, 'OP(%s, %d, %s, "%s", %d, %d, %d, %d, %s)' % (
        fmt, op, base, name, width["dst"], width["s0"], width["s1"], width["s2"], fl)


def main():
    rows, names = [], []
    for fmt, (count, gen) in FORMATS.items():
        cands = {op: list(gen(op)) for op in range(count)}
        found = disassemble([e for c in cands.values() for e in c])
        for op, c in cands.items():
            if fmt == "VOP3" and 0x380 <= op < 0x400:
                continue  # the VOP3P range
            if fmt == "SOPK" and op > 21 or fmt == "VOP1" and op > 0x7F:
                continue
            for e in c:
                if key(e) in found:
                    text = found[key(e)]
                    if "interp" in text or "cbranch_i_fork" in text and fmt != "SOPK":
                        break
                    base, r = row(fmt, op, text)
                    names.append(base)
                    rows.append(r)
                    break
    # The disassembler prints no encoding for the one scalar instruction with an extra literal.
    names.append("s_setreg_imm32_b32")
    rows.append('OP(SOPK, 20, s_setreg_imm32_b32, "s_setreg_imm32_b32", 0, 0, 0, 0, 0)')
    head = "// Made by tools/gen_opcodes.py; not to be edited.\n"
    files = {"scalar": ("SOP1", "SOP2", "SOPK", "SOPC", "SOPP", "SMEM"), "vop1": ("VOP1",), "vop2": ("VOP2",),
             "vopc": ("VOPC",), "vop3": ("VOP3",), "vop3p": ("VOP3P",), "ds": ("DS",),
             "vmem": ("MUBUF", "MTBUF", "FLAT", "SCRATCH", "GLOBAL")}
    for name, fmts in files.items():
        with open("%s/%s.inc" % (sys.argv[2], name), "w") as f:
            f.write(head + "// OP(format, opcode, mnemonic, printed name, widths in dwords: dst, src0, src1, src2; flags)\n")
            f.write("".join(r + "\n" for r in rows if r[3:].split(",")[0] in fmts))
    with open(sys.argv[2] + "/mnemonics.inc", "w") as f:
        line = head
        for n in dict.fromkeys(names):
            item = "MNEMONIC(%s)" % n
            if len(line.split("\n")[-1]) + len(item) > 98:
                line += "\n"
            line += item + " "
        f.write(line + "\n")


main()
