"""Prints the table of a URDF's moving joints and their child links, as in hand21_figures.csv and allegro16_figures.csv.

    python3 tests/golden/figures.py FILE.urdf

The two tables were made so from the files that the manufacturers' figures come from, not from those in assets/robots.
"""

import sys
from xml.etree import ElementTree

INERTIA = ["ixx", "iyy", "izz", "ixy", "ixz", "iyz"]
HEAD = "joint,lower,upper,x,y,z,roll,pitch,yaw,ax,ay,az,damping,mass,cx,cy,cz," + ",".join(INERTIA)


def numbers(element, key, default="0 0 0"):
    return [float(x) for x in (element.get(key, default) if element is not None else default).split()]


def main():
    robot = ElementTree.parse(sys.argv[1]).getroot()
    links = {link.get("name"): link.find("inertial") for link in robot.iter("link")}
    print(HEAD)
    for joint in robot.iter("joint"):
        if joint.get("type") in (None, "fixed"):
            continue
        origin, limit, body = joint.find("origin"), joint.find("limit"), links[joint.find("child").get("link")]
        row = [float(limit.get("lower")), float(limit.get("upper"))]
        row += numbers(origin, "xyz") + numbers(origin, "rpy") + numbers(joint.find("axis"), "xyz", "1 0 0")
        row += numbers(joint.find("dynamics"), "damping", "0") + numbers(body.find("mass"), "value", "0")
        row += numbers(body.find("origin"), "xyz")
        row += [float(body.find("inertia").get(key)) for key in INERTIA]
        print(joint.get("name"), *row, sep=",")


if __name__ == "__main__":
    main()
