// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

import {IEip1271, SignatureChecker} from "./SignatureChecker.sol";

/// @title A contract wallet for tests: it takes what its owner's key has signed (EIP-1271).
/// @dev No constructor arguments are needed where the owner is written into slot 0.
contract TestWallet is IEip1271 {
    address public owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function setOwner(address owner_) external {
        owner = owner_;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (owner == address(0) || !SignatureChecker.isValid(owner, digest, signature)) return 0xffffffff;
        return IEip1271.isValidSignature.selector;
    }
}
